"""The words of the pages that ask a model, in Spanish, by key."""

ES = {
    "worker.ended": (
        "El proceso que tiene el modelo ha terminado: {how}. Vuelve a empezar con la próxima "
        "pregunta."
    ),
    "worker.code": "código {code}",
    "inside.waiting": (
        "{name} aún no tiene checkpoint: pulsa {press[app.train]} y luego {press[train.save]} "
        "para guardar uno ya, o espera al primero."
    ),
    "inside.ended": (
        "{name} terminó antes de su primer checkpoint: no hay modelo suyo. Pulsa "
        "{press[app.train]} y luego {press[train.resume]} para entrenarla desde el principio."
    ),
    "inside.diverged": (
        "{name} divergió antes de su primer checkpoint: no hay modelo suyo. Pulsa "
        "{press[app.train]} y luego {press[train.resume]} para entrenarla desde el principio "
        "con una tasa de aprendizaje menor."
    ),
    "inside.gone": (
        "La carpeta de {name} ya no está. Pulsa {press[app.runs]} para elegir otra ejecución."
    ),
    "inside.loading": "Se está cargando el modelo.",
    "trainer.gone": "El entrenador de {name} ha terminado.",
    "recorded.missing": "La grabación {path} falta o está dañada; instala mlx-gpt otra vez.",
    "recorded.absent": "Esto es una grabación, y esto no se grabó.",
    "recorded.unknown": (
        "Esto es una grabación. Responde a: {prompts}. Para textos propios entrena un modelo: "
        "pulsa {press[app.runs]} y luego {press[runs.built_in]}."
    ),
    "sample.placeholder": "un texto; {press[line.take]} genera, {press[prompt.leave]} sale",
    "sample.start": (
        "Pulsa {press[sample.prompt]} para escribir un texto, o {press[sample.generate]} para "
        "empezar desde nada."
    ),
    "sample.empty": (
        "Aún no hay un modelo con que hablar.\n"
        "\n"
        "  {press[app.runs]:<3} las ejecuciones: pulsa {press[runs.built_in]} allí para "
        "entrenar un primer modelo\n"
        "  {press[app.new]:<3} una ejecución nueva, a tu gusto\n"
        "\n"
        "mlx-gpt tui MODELO abre un modelo por su nombre o carpeta."
    ),
    "sample.no_model": (
        "No hay un modelo con que hablar: pulsa {press[app.runs]} y luego "
        "{press[runs.built_in]} para entrenar uno."
    ),
    "sample.seed": "semilla",
    "sample.of": "{place} ({press[sample.other]}: otra)",
    "sample.count": "{count} tokens",
    "sample.running": "▌ {press[sample.stop]} para",
    "sample.living": "{name}, entrenando",
    "sample.at_step": "{name}, paso {step}",
    "sample.off": "no",
    "sample.no_token": "Aquí están los rivales del token bajo el cursor.",
    "sample.surprise": "p {p} · {nats} nats",
    "sample.rivals": "{left} posibles",
    "sample.now": "ahora",
    "sample.rep_note": "rep actúa en el texto siguiente: estas probabilidades vinieron sin logits",
    "sample.note_living": (
        "{name} se está entrenando: la orden toma su checkpoint más nuevo ({press[app.train]} "
        "y luego {press[train.save]} guarda uno ya)."
    ),
    "sample.note_tokens": (
        "Los tokens elegidos quizá no sean los de este texto: la orden puede seguir otro camino."
    ),
    "sample.note_last": "De las muestras que da la orden, la última es esta.",
    "finish.length": "límite alcanzado",
    "finish.recorded": "fin de lo grabado",
    "finish.end": "fin del texto",
    "finish.failed": "falló",
    "finish.stopped": "parado",
    "help.sample": (
        "El modelo continúa un texto. Cada token tiene el color de su probabilidad; pon el "
        "cursor en uno con {press[sample.back]}/{press[sample.forward]} para ver qué más pudo "
        "venir, elige un rival con {press[sample.likelier]}/{press[sample.unlikelier]} y sigue "
        "desde él con {press[sample.branch]}. Los diales cambian las barras al instante: no "
        "hace falta calcular nada nuevo. {press[sample.generate]} genera otra vez, "
        "{press[sample.again]} con la misma semilla. Una ejecución que entrena responde ella "
        "misma, entre dos pasos."
    ),
    "help.prompt": (
        "El texto que se continúa. {press[prompt.older]}/{press[prompt.newer]} recuperan "
        "textos anteriores."
    ),
    "help.tokens": (
        "Los tokens por su probabilidad, como la dio el modelo antes de todo filtro: verde es lo "
        "esperado, amarillo y rojo son sorpresas. Subrayado: elegido por ti. Un clic pone el "
        "cursor en uno; también en los rivales y los diales se puede hacer clic."
    ),
    "help.rivals": (
        "p es lo que piensa el modelo; ahora es lo que dejan los diales T, top-k, top-p, min-p y "
        "rep; × marca lo que no puede venir. ▶ está ante el token que vino. ≈: los rivales que no "
        "se guardan se toman por igual de probables."
    ),
    "help.dials": (
        "T temperatura · top-k los k más probables · top-p los más probables que suman p · min-p "
        "una parte del más probable · rep hace menos probables los usados · n máximo de tokens · "
        "× muestras una junto a otra."
    ),
    "key.prompt.older": "anterior",
    "tip.prompt.older": "El texto anterior",
    "key.prompt.newer": "siguiente",
    "tip.prompt.newer": "El texto siguiente",
    "key.prompt.leave": "salir",
    "tip.prompt.leave": "Volver a la página",
    "key.sample.prompt": "texto",
    "tip.sample.prompt": "Escribir un texto",
    "key.sample.generate": "generar",
    "tip.sample.generate": "Generar con una semilla nueva",
    "key.sample.again": "repetir",
    "tip.sample.again": "Generar con la misma semilla",
    "key.sample.stop": "parar",
    "tip.sample.stop": "Parar tras este token",
    "key.sample.back": "token",
    "tip.sample.back": "El token anterior",
    "key.sample.forward": "token",
    "tip.sample.forward": "El token siguiente",
    "key.sample.likelier": "rival",
    "tip.sample.likelier": "Un rival más probable",
    "key.sample.unlikelier": "rival",
    "tip.sample.unlikelier": "Un rival menos probable",
    "key.sample.branch": "ramificar",
    "tip.sample.branch": "Poner el rival en lugar del token y seguir desde ahí",
    "key.sample.undo": "deshacer",
    "tip.sample.undo": "Las muestras anteriores",
    "key.sample.dial": "dial",
    "tip.sample.dial": "Tomar el dial siguiente",
    "key.sample.dial_back": "dial",
    "tip.sample.dial_back": "Tomar el dial anterior",
    "key.sample.more": "girar",
    "tip.sample.more": "Girar el dial hacia arriba",
    "key.sample.less": "girar",
    "tip.sample.less": "Girar el dial hacia abajo",
    "key.sample.other": "otro texto",
    "tip.sample.other": "La siguiente de varias muestras",
    "key.sample.reset": "restablecer",
    "tip.sample.reset": "Los diales como al principio",
    "key.sample.first": "primero",
    "tip.sample.first": "El primer token",
    "key.sample.last": "último",
    "tip.sample.last": "El último token",
    "key.sample.trace": "trazar",
    "tip.sample.trace": "Recorrer el modelo con el texto hasta el cursor",
    "trace.prompt": "un texto; {press[line.take]} lo traza, {press[prompt.leave]} sale",
    "trace.empty": (
        "Aún no hay un modelo que mirar por dentro.\n"
        "\n"
        "  {press[app.runs]:<3} las ejecuciones: pulsa {press[runs.built_in]} allí para "
        "entrenar un primer modelo\n"
        "  {press[app.new]:<3} una ejecución nueva, a tu gusto\n"
        "\n"
        "mlx-gpt tui MODELO abre un modelo por su nombre o carpeta."
    ),
    "trace.wait": "Se está cargando y trazando el modelo.",
    "trace.busy": "se está calculando",
    "trace.from": "desde",
    "trace.params": "pesos",
    "trace.cost": "coste",
    "trace.axes": "ejes",
    "trace.shape": "forma",
    "trace.numbers": "{count} números, {size}, {dtype}",
    "trace.mean": "media",
    "trace.zeros": "ceros",
    "trace.norm": "norma",
    "trace.odd": "especial",
    "trace.spread": "reparto",
    "trace.float64": "float64",
    "trace.proof": "error {rel}, máximo {tol}",
    "trace.gap": (
        "Δ difiere de la pasada anterior en {gap} de su mayor número (@: primera posición)"
    ),
    "trace.rows": "filas",
    "trace.ends": "entrega",
    "trace.memory": "memoria",
    "trace.bad": "{name} es la primera fila que no es lo que dice su ecuación.",
    "trace.cut": "sin los primeros {count} tokens: contexto lleno",
    "trace.first": "difiere desde {name}",
    "trace.parts": "desde el token {at}: ‘{old}’ → ‘{new}’",
    "trace.same": "Ninguna fila difiere de la pasada anterior.",
    "trace.living": "en entrenamiento; {press[trace.reload]} toma los pesos de ahora",
    "trace.stale": "{press[trace.reload]} carga un checkpoint más nuevo",
    "trace.note_sound": "La orden traza el modelo tal como es, sin {changes}.",
    "trace.note_living": (
        "Lee los pesos de este momento, que se guardan hasta {press[trace.reload]} o el fin "
        "del entrenamiento."
    ),
    "view.row": "fila",
    "view.values": "valores",
    "view.attention": "atención",
    "view.lens": "lente de logits",
    "view.cone": "cono de luz",
    "view.account": "cuenta del logit",
    "view.next": "token siguiente",
    "view.rope": "RoPE",
    "view.gradients": "gradientes",
    "view.source": "nuestro código",
    "view.labs": "laboratorios",
    "part.embedding": "embedding",
    "part.block": "bloque {layer}",
    "part.attention": "atención",
    "part.feed-forward": "feed-forward",
    "part.head": "cabeza",
    "part.loss": "pérdida",
    "part.sampling": "elección de un token",
    "group.embedding": "Los ids se vuelven vectores: empieza la corriente residual.",
    "group.block": (
        "Una capa: la atención mueve información entre tokens, la red feed-forward trabaja "
        "con cada uno. Ambas suman a la corriente."
    ),
    "group.attention": "Cada token pregunta (q), cada token responde (k) y entrega algo (v).",
    "group.feed-forward": "Cada token por separado: se ensancha, se dobla y se recoge.",
    "group.head": "Se lee la corriente: una puntuación para cada token del vocabulario.",
    "group.loss": "Cuánto sorprende al modelo cada token que de verdad vino.",
    "group.sampling": "De las puntuaciones de la última posición al token siguiente.",
    "lens.what": (
        "Lo que diría el modelo si acabara ahí, en la posición {position} ‘{token}’; |x| es "
        "la longitud del vector de la corriente."
    ),
    "lens.after": "bloque {layer}",
    "cone.what": (
        "Otro token en lugar de ‘{token}’ (posición {position}): cuánto cambia cada posición "
        "de cada fila. {press[trace.less]} y {press[trace.more]} lo mueven."
    ),
    "account.what": (
        "El logit de ‘{token}’ en la posición {position}, como suma de lo que escribe cada parte:"
    ),
    "account.total": "suma",
    "account.logit": "logit",
    "account.error": "diferencia {error} del mayor",
    "attention.place": "bloque {layer}, cabeza {head} de {heads}",
    "attention.note": (
        "Cada fila suma 1: lo que mira ese token. {press[page.next]} y flechas: leer una celda."
    ),
    "attention.cell": "‘{a}’ ({at}) mira a ‘{b}’ ({of}): {weight}",
    "labs.none": (
        "{press[trace.break]} elige un error; luego los laboratorios dicen cuáles lo notan."
    ),
    "labs.choose": "¿Qué error ha de tener el modelo? ({press[trace.restore]} lo quita)",
    "labs.running": "han mirado {done} laboratorios …",
    "labs.caught": "Lo notan: {labs}",
    "labs.at_most": "{what}: {found}, se permite hasta {high}",
    "labs.at_least": "{what}: {found}, se espera al menos {low}",
    "labs.between": "{what}: {found}, se espera de {low} a {high}",
    "source.none": "Nuestro código no nombra esta fila.",
    "rope.none": (
        "RoPE gira consultas y claves: ponte en q_rot o k_rot de un bloque. Un modelo sin "
        "RoPE no las tiene."
    ),
    "rope.what": (
        "Las dimensiones {pair} y {other} giran juntas; {press[trace.less]} y "
        "{press[trace.more]} toman otro par."
    ),
    "rope.speed": "ángulo = posición · {speed} radianes; los pares lentos distinguen lo lejano",
    "next.what": "Los tokens siguientes más probables, sin filtros:",
    "next.changed": (
        "Los siguientes más probables: en gris el modelo tal como es, luego con el cambio:"
    ),
    "gradients.what": "Lo largo que es el gradiente de la pérdida de este texto ({loss}):",
    "gradients.note": "Dentro del bloque del cursor: cada peso, y el gradiente como parte de él.",
    "quiz.ask": "por adivinar",
    "quiz.line": "forma de {name}: nombres o números, como B T d_model",
    "quiz.next": "{press[answer.check]}: fila siguiente",
    "quiz.score": "{right} de {asked} bien",
    "quiz.right": "Bien: {answer}.",
    "quiz.count": "Tiene {count} ejes, no {given}: {answer}.",
    "quiz.axis": "El eje {number} es {expected}, no {given}:",
    "axis.B": "secuencias",
    "axis.T": "tokens nuevos",
    "axis.S": "claves: todos los tokens hasta ahora",
    "axis.P": "posiciones cuyo token siguiente se conoce",
    "axis.V": "tokens del vocabulario",
    "axis.d_model": "ancho de la corriente",
    "axis.n_heads": "cabezas",
    "axis.n_kv_heads": "cabezas de claves y valores",
    "axis.d_head": "ancho de una cabeza",
    "axis.d_ff": "rasgos de la red feed-forward",
    "help.tree": (
        "La pasada hacia delante en el orden en que corre. {press[trace.step]} va a la línea "
        "siguiente, {press[trace.into]} entra en un grupo, {press[trace.out]} sale, "
        "{press[trace.block]} va al bloque siguiente. ✓ la fila es lo que dice su ecuación, "
        "probado en float64; ✗ no lo es; Δ difiere de la pasada anterior: en qué parte de su "
        "mayor número, y @ desde qué token. Con la máscara causal no difiere ningún token "
        "anterior al cambiado."
    ),
    "help.row": (
        "Qué es la fila: su ecuación, en palabras, sus ejes y tamaños, coste, estadísticas y "
        "su distancia a la aritmética float64."
    ),
    "help.answer": (
        "La forma de la fila, sus ejes como nombres o números: B T d_model, o 1 16 96. "
        "{press[answer.check]} la compara; {press[answer.next]} y {press[answer.back]} van a "
        "otras filas, {press[answer.leave]} termina."
    ),
    "help.view": (
        "La vista elegida; {press[trace.view]} va a la siguiente. En una tabla de números "
        "{press[page.next]} y las flechas leen una sola celda, {press[trace.wide]} toma todo "
        "el ancho. Los laboratorios son pruebas de modelos pequeños con el error puesto: ✗ "
        "nombra qué lo notó, con la cifra medida y la permitida; ✓ no notó nada, porque el "
        "error no se ve ahí; – no se puede hacer con este modelo. NaN: la cifra no es un "
        "número."
    ),
    "key.menu.pick": "elegir",
    "tip.menu.pick": "Este",
    "key.menu.up": "arriba",
    "tip.menu.up": "El de arriba",
    "key.menu.down": "abajo",
    "tip.menu.down": "El de abajo",
    "key.menu.page_up": "pág. arriba",
    "tip.menu.page_up": "Una página arriba",
    "key.menu.page_down": "pág. abajo",
    "tip.menu.page_down": "Una página abajo",
    "key.menu.first": "primero",
    "tip.menu.first": "El primero",
    "key.menu.last": "último",
    "tip.menu.last": "El último",
    "key.cell.left": "celda",
    "tip.cell.left": "La celda de la izquierda",
    "key.cell.right": "celda",
    "tip.cell.right": "La celda de la derecha",
    "key.cell.up": "celda",
    "tip.cell.up": "La celda de arriba",
    "key.cell.down": "celda",
    "tip.cell.down": "La celda de abajo",
    "key.scroll.up": "desplazar",
    "tip.scroll.up": "Desplazar el texto hacia arriba",
    "key.scroll.down": "desplazar",
    "tip.scroll.down": "Desplazar el texto hacia abajo",
    "key.answer.check": "comprobar",
    "tip.answer.check": "Compara la respuesta; una línea vacía sigue",
    "key.answer.next": "siguiente",
    "tip.answer.next": "La fila siguiente",
    "key.answer.back": "anterior",
    "tip.answer.back": "La fila anterior",
    "key.answer.leave": "fin examen",
    "tip.answer.leave": "Vuelve a mostrar las formas",
    "key.trace.step": "paso",
    "tip.trace.step": "La línea siguiente",
    "key.trace.back": "paso",
    "tip.trace.back": "La línea anterior",
    "key.trace.into": "entrar",
    "tip.trace.into": "Entrar en el grupo; en una fila, a sus números",
    "key.trace.out": "salir",
    "tip.trace.out": "Salir del grupo",
    "key.trace.block": "bloque",
    "tip.trace.block": "La parte siguiente del modelo",
    "key.trace.block_back": "bloque",
    "tip.trace.block_back": "La parte anterior del modelo",
    "key.trace.view": "vista",
    "tip.trace.view": (
        "La vista siguiente: valores, atención, lente, cono, cuenta, token siguiente, RoPE, "
        "gradientes, nuestro código, laboratorios"
    ),
    "key.trace.view_back": "vista",
    "tip.trace.view_back": "La vista anterior",
    "key.trace.less": "mover",
    "tip.trace.less": "Cabeza, índice o posición anterior",
    "key.trace.more": "mover",
    "tip.trace.more": "Cabeza, índice o posición siguiente",
    "key.trace.edit": "texto",
    "tip.trace.edit": "Otro texto; muestra la primera fila distinta",
    "key.trace.break": "romper",
    "tip.trace.break": "Elegir un error y ver qué laboratorios lo notan",
    "key.trace.zero": "anular",
    "tip.trace.zero": "Poner a cero la fila, parte o cabeza y trazar otra vez",
    "key.trace.restore": "restaurar",
    "tip.trace.restore": "El modelo como es",
    "key.trace.quiz": "examen",
    "tip.trace.quiz": "Adivinar las formas",
    "key.trace.pair": "ejes",
    "tip.trace.pair": "Otros ejes como tabla",
    "key.trace.hold": "índice",
    "tip.trace.hold": "Otro eje por el que moverse",
    "key.trace.marks": "marcas",
    "tip.trace.marks": "Números, bloques, medios bloques o signos",
    "key.trace.wide": "ancho",
    "tip.trace.wide": "Todo el ancho para la vista",
    "key.trace.values": "valores",
    "tip.trace.values": "Los números de la fila",
    "key.trace.attention": "atención",
    "tip.trace.attention": "Quién mira a quién",
    "key.trace.lens": "lente",
    "tip.trace.lens": "Lo que diría el modelo tras cada bloque",
    "key.trace.cone": "cono",
    "tip.trace.cone": "Dónde se nota un token cambiado",
    "key.trace.account": "cuenta",
    "tip.trace.account": "De qué se compone un logit",
    "key.trace.source": "código",
    "tip.trace.source": "La función nuestra que calcula esta fila",
    "key.trace.next": "tok. sig.",
    "tip.trace.next": "Qué viene después; al lado, sin el cambio",
    "key.trace.rope": "RoPE",
    "tip.trace.rope": "En q_rot o k_rot: cómo gira un par de dimensiones",
    "key.trace.gradients": "gradientes",
    "tip.trace.gradients": "El gradiente de la pérdida, parte por parte",
    "key.trace.row": "fila",
    "tip.trace.row": "Qué es la fila",
    "key.trace.left": "tabla",
    "tip.trace.left": "La tabla a la izquierda",
    "key.trace.right": "tabla",
    "tip.trace.right": "La tabla a la derecha",
    "key.trace.upward": "tabla",
    "tip.trace.upward": "La tabla hacia arriba",
    "key.trace.downward": "tabla",
    "tip.trace.downward": "La tabla hacia abajo",
    "key.trace.reload": "recargar",
    "tip.trace.reload": "Cargar el checkpoint más nuevo",
    "key.trace.leave": "salir",
    "tip.trace.leave": "Salir del examen, o volver a la fila",
}
