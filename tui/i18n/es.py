"""The words of the app in Spanish, by key."""

ES = {
    "page.runs": "Ejecuciones",
    "page.train": "Entrenar",
    "page.sample": "Generar",
    "page.trace": "Traza",
    "page.new": "Nueva",
    "page.side": "lado a lado",
    "app.too_small": (
        "El terminal tiene {width} columnas y {height} filas; hazlo de al menos 80 por 24."
    ),
    "app.copied": "Copiado ({press[app.save]} lo escribe en un archivo):",
    "app.saved": "Añadido a {path}",
    "app.keymap": "Escrito: {path}. Cambia ahí las teclas y vuelve a abrir la aplicación.",
    "app.goes_on": "{names}: el entrenamiento continúa; {again} lo muestra de nuevo",
    "tour.0": (
        "Es un entrenamiento grabado, diez veces más rápido. {press[app.tour]}: la visita "
        "guiada de diez paradas; {press[app.end_tour]} oculta esta línea."
    ),
    "tour.1": (
        "La curva es la pérdida: cuánto sorprende el token siguiente. {press[train.back]} "
        "retrocede por las evaluaciones. {press[app.tour]}: sigue"
    ),
    "tour.2": (
        "Discontinuas: lo que cuesta adivinar, a ciegas (ln V), por frecuencia (unigrama), por "
        "pares (bigrama). {press[app.tour]}: sigue"
    ),
    "tour.3": (
        "Bajo el gráfico continúa los mismos textos en cada evaluación; {press[train.pane]} "
        "colorea un texto por su sorpresa. {press[app.tour]}: sigue"
    ),
    "tour.4": (
        "Aquí están todas las ejecuciones. {press[runs.mark]} marca varias para superponer sus "
        "curvas; {press[runs.built_in]} entrena una. {press[app.tour]}: sigue"
    ),
    "tour.5": (
        "{press[sample.generate]} hace escribir al modelo. Los tokens verdes se esperaban; los "
        "amarillos y rojos sorprenden. {press[app.tour]}: sigue"
    ),
    "tour.6": (
        "{press[sample.back]} va a un token del texto ({press[sample.generate]} escribe uno); las "
        "barras son sus rivales. Seguir desde uno ({press[sample.branch]}) requiere un modelo "
        "propio. {press[app.tour]}: sigue"
    ),
    "tour.7": (
        "{press[sample.dial]} toma un dial y {press[sample.more]} lo gira: temperatura, top-k "
        "… Las barras cambian sin calcular de nuevo. {press[app.tour]}: sigue"
    ),
    "tour.8": (
        "El mismo modelo, operación a operación: {press[trace.step]} avanza. "
        "{press[trace.attention]}: quién mira a quién; {press[trace.lens]}: qué diría cada "
        "bloque. {press[app.tour]}: sigue"
    ),
    "tour.9": (
        "{press[trace.break]} avería el modelo a propósito y los labs dicen cuáles lo notan; "
        "{press[trace.restore]} lo repara. {press[app.tour]}: sigue"
    ),
    "tour.10": (
        "Tu propia ejecución: un preajuste, tus textos, los ajustes y lo que cuesta. "
        "{press[new.start]} la empieza. {press[app.tour]} acaba la visita."
    ),
    "key.app.tour": "visita",
    "tip.app.tour": "Visita guiada de la ejecución grabada: la parada siguiente",
    "key.app.end_tour": "fin visita",
    "tip.app.end_tour": "Deja la visita guiada",
    "recorded.prompts": (
        "grabados: {prompts}; {press[prompt.older]}/{press[prompt.newer]} los traen"
    ),
    "app.how_to_quit": "Pulsa {press[app.quit]} para salir; los entrenamientos continúan.",
    "keyboard.space": "espacio",
    "keyboard.tab": "tab",
    "keyboard.home": "inicio",
    "keyboard.end": "fin",
    "keyboard.pgup": "repág",
    "keyboard.pgdn": "avpág",
    "keyboard.del": "supr",
    "keyboard.shift+tab": "mayús+tab",
    "ask.yes_or_no": "{press[ask.yes]}: sí    {press[ask.no]}: no",
    "help.keys": "Teclas",
    "launch.begun": "Se prepara el entrenamiento; aparecerá aquí cuando dé el primer paso.",
    "launch.first": "empieza",
    "launch.twice": "Este entrenamiento ya se está preparando.",
    "launch.unseen": "{name} ya ha empezado; cuando acabes aquí, {press[app.train]} lo muestra.",
    "battery.draining": (
        "El entrenamiento gasta batería ({percent} %). Enchufa la máquina, o haz que descanse "
        "la mitad del tiempo ({press[app.train]} y luego {press[train.eco]})."
    ),
    "battery.eco": "El entrenamiento gasta batería ({percent} %). Enchufa la máquina si puedes.",
    "battery.low": (
        "Solo queda un {percent} % de batería: enchufa la máquina ya, o guarda y detén el "
        "entrenamiento ({press[app.train]} y luego {press[train.stop]})."
    ),
    "stage.learning": "piezas",
    "stage.reading": "lectura",
    "stage.tokenising": "tokens",
    "palette.open": "Abrir",
    "palette.search": "Busca entre las órdenes …",
    "palette.theme": "Tema",
    "palette.theme.tip": "Elige los colores",
    "palette.keymap": "Escribir un archivo de teclas",
    "palette.keymap.tip": "Un archivo TOML en el que se puede cambiar cada tecla",
    "palette.screenshot": "Captura",
    "palette.screenshot.tip": "Guarda la pantalla como SVG",
    "state.running": "en marcha",
    "state.paused": "en pausa",
    "state.finished": "terminada",
    "state.stopped": "detenida",
    "state.interrupted": "cortada",
    "state.diverged": "divergió",
    "state.gone": "sin carpeta",
    "column.mark": "",
    "column.name": "nombre",
    "column.state": "estado",
    "column.step": "paso",
    "column.loss": "pérd.",
    "column.val": "val",
    "column.speed": "tok/s",
    "column.age": "edad",
    "chart.train": "entren.",
    "chart.val": "val",
    "chart.mean": "media",
    "chart.step": "paso",
    "chart.more": "+{count} más",
    "chart.bits": "bits/car.",
    "chart.set": "fijada en",
    "chart.peak": "pico",
    "chart.active": "activa",
    "chart.limit": "límite",
    "metric.loss": "pérdida",
    "metric.lr": "tasa de aprendizaje",
    "metric.grad_norm": "norma del gradiente",
    "metric.tokens_per_second": "tokens/s",
    "metric.memory": "memoria",
    "curve.loss": "pérdida de entrenamiento",
    "curve.val_loss": "pérdida de validación",
    "status.left": "quedan {time}",
    "status.eco": "eco",
    "status.best": "mejor guardada",
    "status.by_step": "paso a paso",
    "status.planned": "previstos {size}",
    "status.memory": "mem",
    "runs.filter": "nombre, estado o condición: lr>=1e-3  val<2  model.n_layers=4",
    "runs.empty": (
        "Aún no hay ejecuciones en {folder}.\n"
        "\n"
        "  {press[runs.built_in]:<3} entrena ahora los cuentos incluidos: unos minutos\n"
        "  {press[runs.new]:<3} rellena el formulario de una ejecución: tu texto, tus ajustes\n"
        "  {press[runs.demo]:<3} mira una ejecución grabada: sin entrenar, sin MLX\n"
        "\n"
        "  {press[app.help]:<3} qué hace cada tecla       {press[app.language]}   English"
    ),
    "runs.nothing": "Ninguna ejecución cumple «{words}»; {press[runs.clear]} quita el filtro.",
    "runs.misfit": (
        "«{word}» no compara nada de una ejecución con un número, como val<2; "
        "{press[runs.clear]} quita el filtro."
    ),
    "runs.none": "No hay ninguna ejecución elegida.",
    "runs.rename": "Nuevo nombre de {name}",
    "runs.rename_alive": "{name} se está entrenando: cámbiale el nombre cuando termine.",
    "runs.taken": "{name} ya existe; da otro nombre",
    "runs.delete": "¿Borrar {name} y sus checkpoints para siempre?\n{path}",
    "runs.delete_alive": (
        "{name} se está entrenando: detenla antes ({press[app.train]} y luego {press[train.stop]})."
    ),
    "runs.deleted": "Borrada {name}.",
    "runs.folder_shown": "{path}\nLa ruta está copiada, y se pide a {program} que la muestre.",
    "runs.folder_copied": "{path}\nLa ruta está copiada. No hay {program} que la muestre.",
    "runs.settings": "ajustes",
    "runs.differences": "diferencias",
    "runs.setting": "ajuste",
    "runs.same": "Ningún ajuste difiere.",
    "side.how": "Marca otra ejecución con {press[runs.mark]}: caben de dos a cuatro, lado a lado.",
    "side.most": "Caben {most} ejecuciones lado a lado: son las primeras de las {count}.",
    "side.step": "paso {step}",
    "side.older": "paso {step}, el último hasta ahí",
    "side.silent": "En ese paso aún no se le había preguntado.",
    "side.unasked": "A esta ejecución no se le pregunta este texto.",
    "side.no_probe": "Aún no hay muestras: llegan con cada evaluación.",
    "side.no_model": "No tiene checkpoint: no hay modelo en el que mirar.",
    "side.place": "bloque {layer}, cabeza {head}",
    "side.fewer": "Tiene {layers} × {heads} cabezas: esta es bloque {layer}, cabeza {head}.",
    "side.note_two": "La orden compara dos: las dos primeras de estas.",
    "resume.alive": "{name} ya se está entrenando.",
    "resume.steps": (
        "{name} ha dado sus {steps} pasos. ¿Cuántos debe tener en total? (un coseno nuevo "
        "sobre todos)"
    ),
    "resume.number": "{text!r} no es un número de pasos; da un entero mayor que 0",
    "train.empty": (
        "Aún no hay nada que mostrar.\n"
        "\n"
        "  {press[app.runs]:<3} las ejecuciones: pulsa ahí {press[runs.built_in]} para "
        "entrenar una primera\n"
        "  {press[app.new]:<3} una ejecución nueva a tu gusto"
    ),
    "train.none": "No hay ninguna ejecución elegida: pulsa {press[app.runs]}.",
    "train.not_alive": "{name} no se está entrenando; {press[train.resume]} la continúa.",
    "train.prompt": "Texto que el modelo continúa tal como está ahora",
    "pane.probes": "muestras",
    "pane.surprise": "sorpresa",
    "pane.log": "registro",
    "pane.plan": "plan",
    "plan.none": "No se pueden leer los ajustes de esta ejecución.",
    "plan.estimated": "estimado",
    "plan.measured": "medido",
    "plan.time_of": "tiempo, {steps} pasos",
    "plan.projected": "≈: el tiempo hasta ahora y el que queda al ritmo actual.",
    "plan.eco": "Con eco descansa tanto como trabaja, y su tiempo cuenta los descansos.",
    "plan.peak": "memoria máxima",
    "plan.resting": "entre dos pasos",
    "plan.own_speed": "Ritmo como el de otras ejecuciones así de grandes aquí.",
    "plan.typical_speed": "Ritmo como el de dos núcleos de CPU.",
    "plan.dash": (
        "–: no se mide por separado. La máxima lo incluye todo; entre dos pasos quedan pesos y "
        "momentos."
    ),
    "memory.weights": "pesos",
    "memory.gradients": "gradientes",
    "memory.moments": "momentos de AdamW",
    "memory.activations": "activaciones",
    "probe.place": "paso {step} ({at} de {count})",
    "probe.none": (
        "En cada evaluación propia, cada {every} pasos, el modelo continúa los mismos textos; "
        "aparecen aquí."
    ),
    "probe.ask": "{press[train.sample]}: pregunta ahora.",
    "probe.saved": "{press[app.sample]}: que escriba lo que se guardó.",
    "probe.over": "No se tomaron muestras.",
    "probe.no_prompts": "Sus ajustes no dan textos que continuar (train.probe_prompts).",
    "probe.measured": (
        "La evaluación pedida en el paso {step} dio solo la pérdida; muestras y sorpresa llegan "
        "con las propias."
    ),
    "probe.asked": "pedida",
    "probe.asked_at": "pedida en {step}",
    "surprise.none": (
        "En cada evaluación se colorea aquí un texto fijo de validación según lo inesperado "
        "de cada token."
    ),
    "surprise.place": "paso {step}, media {mean} nats",
    "log.none": "Aún no hay sucesos.",
    "event.started": "entrena desde el paso {step} de {steps}",
    "event.paused": "en pausa en el paso {step}",
    "event.resumed": "continúa desde el paso {step}",
    "event.eco": "eco desactivado desde el paso {step}",
    "event.eco.on": "eco activado desde el paso {step}: descansa tanto como trabaja",
    "event.checkpoint": "guardado el paso {step}",
    "event.checkpoint.best": "guardado el paso {step}, el mejor hasta ahora",
    "event.warning": "aviso: {message}",
    "event.error": "error: {message}",
    "event.ack.refused": "rechazado: {message}",
    "event.ack.pause": "en pausa en el paso {step}",
    "event.ack.resume": "continúa desde el paso {step}",
    "event.ack.save": "guardado el paso {step}",
    "event.ack.stop": "se detiene en el paso {step} y lo guarda",
    "event.ack.eval": "evaluado en el paso {step}",
    "event.ack.snapshot": "los pesos del paso {step} se apartan para mirarlos",
    "event.ack.eco": "eco desactivado desde el paso {step}",
    "event.ack.eco.on": "eco activado desde el paso {step}: descansa tanto como trabaja",
    "event.ack.sample": "responde el modelo del paso {step}",
    "event.sample_end": "pedida en el paso {step}: {prompt}│{text}",
    "event.finished.done": "los {step} pasos están dados",
    "event.finished.early": "termina en el paso {step}: la validación ya no mejoraba",
    "event.finished.stopped": "detenida y guardada en el paso {step}",
    "event.finished.replayed": "la repetición se detuvo en el paso {step}",
    "event.finished.diverged": "divergió en el paso {step}; los pesos de ese paso no se guardan",
    "advice.gone": "La carpeta de esta ejecución ha desaparecido.",
    "advice.stopped": (
        "Detenida y guardada en el paso {step} de {total}; {press[train.resume]} continúa "
        "desde ahí."
    ),
    "advice.replay_stopped": (
        "La repetición se detuvo en el paso {step} de {total}; {press[train.resume]} la empieza de "
        "nuevo."
    ),
    "advice.paused": "En pausa en el paso {step} de {total}: te espera.",
    "advice.by_step": "Paso a paso: la repetición espera en el paso {step} de {total}.",
    "advice.asked.pause": "Se pidió una pausa; falta que termine el paso.",
    "advice.asked.resume": "Se pidió continuar; falta que responda el entrenador.",
    "advice.asked.save": "Se pidió guardar; falta que termine el paso.",
    "advice.asked.eval": "Se pidió evaluar; falta que termine el paso.",
    "advice.asked.sample": "Se pidió una muestra; falta que termine el paso.",
    "advice.asked.eco.on": "Se pidió descansar tras cada paso; falta que termine el paso.",
    "advice.asked.eco.off": "Se pidió no descansar más; falta que termine el paso.",
    "advice.asked.stop": "Se pidió detener; falta que termine el paso, y luego se guarda.",
    "advice.slowed": (
        "{now} tokens/s, {fall} más lenta que de costumbre ({usual}): otro programa o el "
        "calor. Cierra lo que calcule, o deja que se enfríe."
    ),
    "advice.preparing": "Se prepara un entrenamiento: {stage}",
    "advice.diverged": (
        "Divergió en el paso {step}. {press[train.resume]} continúa desde el último checkpoint "
        "bueno con train.lr={lr}."
    ),
    "advice.diverged_early": (
        "Divergió en el paso {step}, antes del primer checkpoint. {press[train.resume]} empieza "
        "de nuevo con train.lr={lr}."
    ),
    "advice.interrupted": (
        "El entrenador se fue en el paso {step} de {total}; lo guardado sigue ahí."
    ),
    "advice.not_finite": (
        "La pérdida no es un número en el paso {step}. Detén y continúa con train.lr={lr}."
    ),
    "advice.too_fast": (
        "La pérdida sube ({lowest} → {now}): la tasa de aprendizaje es muy alta. Prueba "
        "train.lr={lr}."
    ),
    "advice.overfitting": (
        "Sobreajuste: la validación fue {best} en el paso {step} y ahora es {now}. Lo guardado "
        "entonces se conserva."
    ),
    "advice.starved": (
        "El texto ({tokens} tokens) se verá {epochs} veces: más texto ayuda más que más pasos."
    ),
    "advice.plateau": (
        "Meseta: {loss}, apenas mejor que hace {steps} pasos. Más pasos cambiarán poco."
    ),
    "advice.first_loss": "La pérdida sin entrenar debe ser unos ln V = {expected}: es {got} ✓",
    "advice.odd_first_loss": (
        "La pérdida sin entrenar debe ser unos ln V = {expected}, pero es {got}: mira la "
        "inicialización."
    ),
    "advice.finished": (
        "Terminada en el paso {step}; pérdida de validación de la mejor guardada: {best}. Ahora "
        "habla con ella."
    ),
    "advice.waiting": "Se calculan los primeros pasos.",
    "advice.learning": "Aprende: la pérdida bajó {fall} en los últimos {steps} pasos.",
    "help.runs": (
        "Todas las ejecuciones de la carpeta, las vivas primero, u ordenadas por una columna: "
        "{press[runs.sort]} toma la siguiente, {press[runs.reverse]} da la vuelta al orden, un "
        "clic en una cabecera hace ambas cosas. {press[table.open]} abre una ejecución. Marca "
        "varias con {press[runs.mark]}: sus curvas se superponen abajo, cada una con la letra "
        "de su fila, y al lado está en qué difieren sus ajustes; {press[runs.compare]} pone de "
        "dos a cuatro lado a lado, con lo que dicen y adónde miran. {press[runs.outliers]} "
        "incluye los valores atípicos, como las pérdidas de una que divergió. "
        "{press[runs.clear]} quita el filtro, y pulsada otra vez las marcas."
    ),
    "help.table": "La tabla: una ejecución por línea. Las cifras son las últimas que ha escrito.",
    "help.settings": "Qué es la ejecución elegida; con varias, solo los ajustes que difieren.",
    "help.side": (
        "De dos a cuatro ejecuciones, cada una en su columna con la letra de su curva. "
        "{press[side.view]} pasa de sus muestras a su atención, sus curvas y los ajustes en "
        "que difieren; un terminal alto muestra dos cosas a la vez. "
        "{press[side.back]}/{press[side.forward]} recorren los pasos en que se preguntó a "
        "alguna de ellas. {press[side.outliers]} incluye en las curvas los valores atípicos, como "
        "las pérdidas de una que divergió."
    ),
    "help.beside": (
        "Qué hizo cada ejecución del mismo texto en el mismo paso, y sus pérdidas ahí; si se le "
        "preguntó antes, se dice en qué paso. Subrayado está lo que la primera no dice, y en la "
        "primera lo que no dice la segunda."
    ),
    "help.maps": (
        "Quién mira a quién en la misma cabeza de cada ejecución, sobre el mismo texto: una "
        "fila por token, una columna por cada uno al que mira. Es la del mejor checkpoint o, "
        "si se está entrenando, la del más nuevo; {press[side.reload]} pregunta de nuevo. "
        "Abajo, lo que más mira el último token."
    ),
    "help.train": (
        "La ejecución elegida. El gráfico grande muestra la pérdida: una banda del paso más "
        "bajo al más alto, la media suavizada encima y la validación como puntos. Las líneas "
        "discontinuas son lo que cuesta adivinar: a ciegas (ln V), por la frecuencia de cada "
        "token (unigrama), por lo que sigue a cada uno (bigrama). "
        "{press[train.back]}/{press[train.forward]} mueven un cursor por las evaluaciones y "
        "las muestras pedidas; lo de abajo lo sigue. Un clic en un gráfico lo pone ahí, la rueda "
        "acerca. El título da los valores en el cursor: en nats, en bits por carácter de texto y "
        "como perplejidad."
    ),
    "help.status": (
        "Estado, progreso y tiempo que queda al ritmo del último minuto, eco si descansa "
        "tras cada paso; últimas pérdidas, la mejor de las evaluaciones propias, cuyos pesos se "
        "guardan (una pedida no guarda nada), tasa de aprendizaje, norma del gradiente, y pico de "
        "memoria junto a lo previsto."
    ),
    "help.chart": (
        "Curvas por pasos. El título da el valor de cada una en el cursor, que es el último "
        "conocido hasta ese paso, o en su final. En un rango que no fijan los valores atípicos, "
        "⋯12 en el título dice que 12 valores quedan fuera. Una ✗ roja en el eje es un paso cuyo "
        "valor no es un número."
    ),
    "help.probes": (
        "Los mismos textos, continuados con la misma semilla en cada evaluación. Subrayado, "
        "lo que la evaluación anterior no decía."
    ),
    "help.surprise": (
        "Un texto fijo de la parte de validación. El color de un token es la probabilidad que"
        " le dio el modelo; mira cómo aprende letras, palabras y acentos."
    ),
    "help.log": "Lo que el entrenamiento ha contado, en orden.",
    "help.plan": (
        "Lo que se estimó que la ejecución necesitaría, lo que se midió y cuántas veces lo "
        "estimado es eso. De la memoria solo se miden dos sumas: el máximo de un paso y lo que "
        "queda entre dos pasos, que son pesos y momentos."
    ),
    "help.sample": "Texto del modelo elegido.",
    "help.trace": "La pasada hacia delante, paso a paso.",
    "help.new": (
        "Una ejecución nueva: elige un preajuste, cambia lo que quieras, empieza. Un fallo se"
        " nombra junto a su ajuste."
    ),
    "key.app.help": "ayuda",
    "tip.app.help": "Explica lo que tiene el foco y cada tecla",
    "key.app.card": "explicar",
    "tip.app.card": "Lo que se tiene en la mano, en una tarjeta: su fórmula y qué significa",
    "key.card.back": "otra palabra",
    "tip.card.back": "La tarjeta anterior",
    "key.card.next": "otra palabra",
    "tip.card.next": "La tarjeta siguiente",
    "key.card.help": "ayuda",
    "tip.card.help": "Todas las teclas y palabras de la página",
    "key.card.close": "cerrar",
    "tip.card.close": "Volver a la página",
    "key.app.copy": "copiar",
    "tip.app.copy": "Copia la orden que hace lo que muestra esta página",
    "key.app.save": "guardar",
    "tip.app.save": "Escribe esa orden en un archivo",
    "key.app.language": "English",
    "tip.app.language": "Cambia a inglés, desde ahora",
    "key.app.theme": "claro/oscuro",
    "tip.app.theme": "Cambia entre claro y oscuro, desde ahora",
    "key.app.runs": "ejecuciones",
    "tip.app.runs": "Todas las ejecuciones",
    "key.app.train": "entrenar",
    "tip.app.train": "La ejecución elegida",
    "key.app.sample": "generar",
    "tip.app.sample": "Habla con el modelo",
    "key.app.trace": "traza",
    "tip.app.trace": "Recorre el modelo",
    "key.app.new": "nueva",
    "tip.app.new": "El formulario de una ejecución",
    "key.app.palette": "órdenes",
    "tip.app.palette": "Busca cualquier orden por su nombre",
    "key.app.quit": "salir",
    "tip.app.quit": "Sal; los entrenamientos continúan",
    "key.line.take": "tomar",
    "tip.line.take": "Toma lo escrito",
    "key.ask.cancel": "cancelar",
    "tip.ask.cancel": "Sal sin responder",
    "key.ask.yes": "sí",
    "tip.ask.yes": "Hazlo",
    "key.ask.no": "no",
    "tip.ask.no": "Déjalo",
    "key.reading.close": "cerrar",
    "tip.reading.close": "Vuelve a la página",
    "key.table.open": "abrir",
    "tip.table.open": "Mira la ejecución bajo el cursor",
    "key.table.up": "arriba",
    "tip.table.up": "La ejecución de arriba",
    "key.table.down": "abajo",
    "tip.table.down": "La ejecución de abajo",
    "key.table.page_up": "pág. arriba",
    "tip.table.page_up": "Una página arriba",
    "key.table.page_down": "pág. abajo",
    "tip.table.page_down": "Una página abajo",
    "key.table.top": "principio",
    "tip.table.top": "La primera ejecución",
    "key.table.bottom": "final",
    "tip.table.bottom": "La última ejecución",
    "key.runs.built_in": "cuentos",
    "tip.runs.built_in": "Entrena los cuentos incluidos: unos minutos",
    "key.runs.demo": "demo",
    "tip.runs.demo": "Repite una ejecución grabada, sin MLX",
    "key.runs.mark": "marcar",
    "tip.runs.mark": "Compara esta ejecución con otras",
    "key.runs.compare": "comparar",
    "tip.runs.compare": "De dos a cuatro, lado a lado: muestras, atención, curvas, ajustes",
    "key.side.view": "vista",
    "tip.side.view": "Muestras, atención, curvas o ajustes",
    "key.side.back": "recorrer",
    "tip.side.back": "Al paso anterior en que se preguntó a alguna",
    "key.side.forward": "recorrer",
    "tip.side.forward": "Al paso siguiente en que se preguntó a alguna",
    "key.side.now": "último",
    "tip.side.now": "Al último paso",
    "key.side.probe": "muestra",
    "tip.side.probe": "El siguiente de los textos que continúan",
    "key.side.probe_back": "muestra",
    "tip.side.probe_back": "El texto anterior",
    "key.side.block": "bloque",
    "tip.side.block": "El bloque siguiente",
    "key.side.block_back": "bloque",
    "tip.side.block_back": "El bloque anterior",
    "key.side.less": "cabeza",
    "tip.side.less": "La cabeza anterior",
    "key.side.more": "cabeza",
    "tip.side.more": "La cabeza siguiente",
    "key.side.edit": "texto",
    "tip.side.edit": "Otro texto que todas miren",
    "key.side.marks": "marcas",
    "tip.side.marks": "Números, bloques, medios bloques o signos",
    "key.side.curve": "curva",
    "tip.side.curve": "Pérdida de entrenamiento o de validación",
    "key.side.outliers": "atípicos",
    "tip.side.outliers": "Un rango que no fijan los atípicos; ⋯12 en un título: 12 valores fuera",
    "key.side.left": "tabla",
    "tip.side.left": "Las tablas a la izquierda",
    "key.side.right": "tabla",
    "tip.side.right": "Las tablas a la derecha",
    "key.side.upward": "tabla",
    "tip.side.upward": "Las tablas hacia arriba",
    "key.side.downward": "tabla",
    "tip.side.downward": "Las tablas hacia abajo",
    "key.side.reload": "recargar",
    "tip.side.reload": "Preguntar otra vez a cada modelo",
    "key.side.leave": "salir",
    "tip.side.leave": "Volver a la tabla",
    "key.runs.filter": "filtrar",
    "tip.runs.filter": "Muestra solo las que cumplen estas palabras o condiciones",
    "key.runs.sort": "ordenar",
    "tip.runs.sort": "Ordena por la columna siguiente; tras la última, otra vez las vivas primero",
    "key.runs.reverse": "invertir",
    "tip.runs.reverse": "Da la vuelta al orden de la columna",
    "key.runs.view": "vista",
    "tip.runs.view": "Curvas o ajustes abajo",
    "key.runs.curve": "curva",
    "tip.runs.curve": "Pérdida de entrenamiento o de validación",
    "key.runs.resume": "continuar",
    "tip.runs.resume": "Continúa una ejecución parada",
    "key.runs.rename": "renombrar",
    "tip.runs.rename": "Da otro nombre a la ejecución",
    "key.runs.delete": "borrar",
    "tip.runs.delete": "Borra la ejecución; pregunta antes",
    "key.runs.folder": "carpeta",
    "tip.runs.folder": "Copia la ruta de la ejecución y muestra su carpeta",
    "key.runs.log": "eje log",
    "tip.runs.log": "Un eje logarítmico",
    "key.runs.outliers": "atípicos",
    "tip.runs.outliers": "Un rango que no fijan los atípicos; ⋯12 en un título: 12 valores fuera",
    "key.runs.smoother": "suavizar",
    "tip.runs.smoother": "Suaviza más las curvas",
    "key.runs.rougher": "suavizar",
    "tip.runs.rougher": "Suaviza menos las curvas",
    "key.runs.glyphs": "trazos",
    "tip.runs.glyphs": "Braille, bloques o ASCII, desde ahora",
    "key.runs.clear": "sin marcas",
    "tip.runs.clear": "Quita las marcas; antes, el filtro si lo hay",
    "key.runs.unfilter": "sin filtro",
    "tip.runs.unfilter": "Quita el filtro; otra vez, las marcas",
    "key.train.pause": "pausar",
    "tip.train.pause": "Pausa el entrenamiento o lo continúa",
    "key.train.go_on": "continuar",
    "tip.train.go_on": "Continúa el entrenamiento en pausa",
    "key.train.save": "guardar",
    "tip.train.save": "Guarda un checkpoint ahora",
    "key.train.sample": "preguntar",
    "tip.train.sample": "El modelo continúa un texto ahora",
    "key.train.stop": "detener",
    "tip.train.stop": "Guarda y detiene; {press[train.resume]} continúa desde ahí",
    "key.train.resume": "continuar",
    "tip.train.resume": "Continúa una ejecución parada",
    "key.train.slower": "bajar tasa",
    "tip.train.slower": "Continúa desde el último checkpoint bueno con una tasa menor",
    "key.train.again": "reempezar",
    "tip.train.again": "Empieza de nuevo desde el primer paso con una tasa menor",
    "key.train.evaluate": "evaluar",
    "tip.train.evaluate": "Mide ahora la pérdida de validación; sin muestras ni checkpoint",
    "key.train.eco": "eco",
    "tip.train.eco": "Descansa tras cada paso lo que duró: menos calor y ruido, a medio ritmo",
    "key.train.back": "recorrer",
    "tip.train.back": "A la evaluación o respuesta anterior",
    "key.train.forward": "recorrer",
    "tip.train.forward": "A la evaluación o respuesta siguiente",
    "key.train.chart": "gráfico",
    "tip.train.chart": "Otra medida en el gráfico grande",
    "key.train.pane": "panel",
    "tip.train.pane": "Muestras, sorpresa, registro o plan abajo",
    "key.train.log": "eje log",
    "tip.train.log": "Un eje logarítmico",
    "key.train.outliers": "atípicos",
    "tip.train.outliers": "Un rango que no fijan los atípicos; ⋯12 en un título: 12 valores fuera",
    "key.train.smoother": "suavizar",
    "tip.train.smoother": "Suaviza más la curva",
    "key.train.rougher": "suavizar",
    "tip.train.rougher": "Suaviza menos la curva",
    "key.train.closer": "zoom",
    "tip.train.closer": "Acerca, alrededor del cursor",
    "key.train.further": "zoom",
    "tip.train.further": "Aleja",
    "key.train.all": "todo",
    "tip.train.all": "Toda la ejecución, sin cursor",
    "key.train.fine_back": "paso",
    "tip.train.fine_back": "Al paso registrado anterior",
    "key.train.fine_forward": "paso",
    "tip.train.fine_forward": "Al paso registrado siguiente",
    "key.train.glyphs": "trazos",
    "tip.train.glyphs": "Braille, bloques o ASCII, desde ahora",
    "key.train.now": "último",
    "tip.train.now": "Quita el cursor: el último paso",
    "key.train.speed": "velocidad",
    "tip.train.speed": "Repite a 1x, 10x o paso a paso",
    "key.train.replay_step": "siguiente",
    "tip.train.replay_step": "Repite hasta la evaluación siguiente",
    "key.pane.up": "arriba",
    "tip.pane.up": "Sube",
    "key.pane.down": "abajo",
    "tip.pane.down": "Baja",
    "key.pane.page_up": "pág. arriba",
    "tip.pane.page_up": "Una página arriba",
    "key.pane.page_down": "pág. abajo",
    "tip.pane.page_down": "Una página abajo",
    "key.pane.top": "principio",
    "tip.pane.top": "Al principio",
    "key.pane.bottom": "final",
    "tip.pane.bottom": "Al final",
    "key.page.next": "parte sig.",
    "tip.page.next": "A la parte siguiente de la página",
    "key.page.previous": "parte ant.",
    "tip.page.previous": "A la parte anterior de la página",
    "new.run": "ejecución",
    "new.model": "model · modelo",
    "new.data": "data · datos",
    "new.train": "train · entrenamiento",
    "new.sample": "sample · muestreo",
    "new.preset": "preajuste",
    "new.preset.note": (
        "de qué se parte; {press[form.last_choice]}/{press[form.next_choice]} eligen"
    ),
    "new.name": "nombre",
    "new.name.note": "el nombre de la carpeta",
    "new.built_in": "cuentos incluidos",
    "new.parameters": "parámetros",
    "new.memory": "memoria",
    "new.tokens": "tokens",
    "new.time": "tiempo",
    "new.hidden": (
        "Lo demás es como en el preajuste y está oculto; {press[new.only_changed]} lo vuelve a "
        "mostrar."
    ),
    "new.no_cost": "Los parámetros, la memoria y el tiempo se dan cuando ningún ajuste esté ✗.",
    "new.typical": "{time} en dos núcleos de CPU",
    "new.sure": (
        "{parameters} parámetros · memoria {memory} de {machine} · {time}\n"
        "Es mucho o largo para esta máquina. ¿Empezarla?"
    ),
    "help.form": (
        "Un ajuste por línea: su valor y qué significa. "
        "{press[form.last_choice]}/{press[form.next_choice]} eligen entre pocos valores, "
        "{press[form.edit]} escribe uno, {press[form.reset]} toma el del preajuste. Un * marca "
        "lo que difiere del preajuste, una ✗ lo que está mal."
    ),
    "files.none": "{press[files.mark]} marca textos o carpetas; ninguno: los cuentos incluidos",
    "files.folder": "carpeta",
    "key.new.start": "empezar",
    "tip.new.start": "Empieza la ejecución en segundo plano",
    "key.new.files": "archivos",
    "tip.new.files": "Elige textos en un árbol",
    "key.new.only_changed": "cambios/todo",
    "tip.new.only_changed": "Solo lo que difiere del preajuste, o todos los ajustes",
    "key.new.clear": "limpiar",
    "tip.new.clear": "Vuelve al preajuste",
    "key.new.cancel": "cancelar",
    "tip.new.cancel": "Deja la línea sin su cambio",
    "key.form.edit": "editar",
    "tip.form.edit": "Escribe un valor",
    "key.form.next_choice": "elegir",
    "tip.form.next_choice": "El siguiente de los valores posibles",
    "key.form.last_choice": "elegir",
    "tip.form.last_choice": "El valor anterior",
    "key.form.reset": "preajuste",
    "tip.form.reset": "Toma el valor del preajuste",
    "key.form.up": "arriba",
    "tip.form.up": "El ajuste de arriba",
    "key.form.down": "abajo",
    "tip.form.down": "El ajuste de abajo",
    "key.form.page_up": "pág. arriba",
    "tip.form.page_up": "Diez ajustes arriba",
    "key.form.page_down": "pág. abajo",
    "tip.form.page_down": "Diez ajustes abajo",
    "key.form.top": "principio",
    "tip.form.top": "El primer ajuste",
    "key.form.bottom": "final",
    "tip.form.bottom": "El último ajuste",
    "key.files.open": "abrir",
    "tip.files.open": "Abre o cierra la carpeta",
    "key.files.up": "arriba",
    "tip.files.up": "La entrada de arriba",
    "key.files.down": "abajo",
    "tip.files.down": "La entrada de abajo",
    "key.files.mark": "marcar",
    "tip.files.mark": "Entrena con este archivo o carpeta",
    "key.files.parent": "superior",
    "tip.files.parent": "La carpeta superior",
    "key.files.done": "aceptar",
    "tip.files.done": "Toma lo marcado",
    "key.files.none": "ninguno",
    "tip.files.none": "Ningún archivo: los cuentos incluidos",
    "key.files.cancel": "cancelar",
    "tip.files.cancel": "Deja todo como estaba",
    "key.replay.stop": "fin demo",
    "tip.replay.stop": "Detiene la repetición donde está",
    "key.replay.again": "repetir",
    "tip.replay.again": "Repite la ejecución grabada desde el principio",
    "replay.speed": "Repetición a {speed}x; {press[train.speed]} la cambia.",
    "replay.stopped": "La repetición se detuvo en el paso {step}.",
    "replay.refused": "una ejecución grabada solo se repite; entrena una tuya",
    "replay.by_step": (
        "Repetición paso a paso: {press[train.replay_step]} va a la evaluación siguiente."
    ),
    "new.of": " de ",
    "key.runs.new": "nueva",
    "tip.runs.new": "El formulario de una ejecución",
    "reference.unigram": "unigrama",
    "reference.bigram": "bigrama",
}
