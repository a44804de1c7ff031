"""The parts of the pages and the words of the field, as the help explains them in Spanish."""

ES = {
    "help.parts": "Las partes de esta página",
    "help.words": "Palabras",
    "topic.status": "líneas de estado",
    "topic.chart": "gráfico",
    "topic.probes": "muestras",
    "topic.surprise": "sorpresa",
    "topic.log": "registro",
    "topic.plan": "plan",
    "topic.table": "tabla",
    "topic.settings": "ajustes",
    "topic.beside": "muestras",
    "topic.maps": "atención",
    "topic.prompt": "línea del texto",
    "topic.dials": "diales",
    "topic.tokens": "texto",
    "topic.rivals": "rivales",
    "topic.tree": "árbol",
    "topic.row": "fila",
    "topic.answer": "línea de respuesta",
    "topic.view": "vista",
    "topic.form": "formulario",
    "word.loss": "pérdida (loss)",
    "gloss.loss": (
        "media de −ln p(token que vino)\n"
        "Cuánto sorprende al modelo el token siguiente, de media. Entrenar la reduce."
    ),
    "word.validation": "pérdida de validación",
    "gloss.validation": (
        "media de −ln p(token que vino), en texto apartado\n"
        "La pérdida en texto con el que nunca se entrena. Si sube mientras la de entrenamiento "
        "baja, el modelo aprende de memoria."
    ),
    "word.nats": "nats",
    "gloss.nats": (
        "−ln p\n"
        "La sorpresa ante un token de probabilidad p: 0 nats si era seguro, 0.69 a cara o "
        "cruz, 4.6 si era uno entre cien. 1 nat = 1.44 bits."
    ),
    "word.perplexity": "perplejidad",
    "gloss.perplexity": (
        "e^pérdida\nEntre cuántos tokens igual de probables sería igual de difícil adivinar."
    ),
    "word.bits": "bits/carácter",
    "gloss.bits": (
        "pérdida / ln 2 / caracteres por token\n"
        "La pérdida por cada carácter del texto. De todas estas, la única comparable entre "
        "tokenizadores."
    ),
    "word.ema": "ema",
    "gloss.ema": (
        "m ← b·m + (1 − b)·x\n"
        "Media móvil exponencial: una curva suavizada por su pasado. Cuanto más cerca está b "
        "de 1, más suave es la curva y más tarde gira."
    ),
    "word.learning_rate": "tasa de aprendizaje",
    "gloss.learning_rate": (
        "w ← w − lr · paso\n"
        "Cuánto mueve los pesos un paso. Muy alta, la pérdida sube; muy baja, no se aprende "
        "nada."
    ),
    "word.grad_norm": "norma del gradiente",
    "gloss.grad_norm": (
        "|g| = √(suma de los gradientes al cuadrado)\n"
        "Con cuánta fuerza tira la pérdida de todos los pesos juntos. Una norma mayor que "
        "train.grad_clip se recorta a ese valor."
    ),
    "word.step": "paso",
    "gloss.step": (
        "tokens = batch_size · grad_accumulation · context_length\n"
        "Un cambio de todos los pesos, según el gradiente medio de esos tokens de texto."
    ),
    "word.speed": "tokens/s",
    "gloss.speed": (
        "tokens de un paso / segundos de un paso\n"
        "De cuánto texto se aprende en un segundo. Baja con un modelo mayor, una máquina "
        "caliente u otros programas al lado."
    ),
    "word.memory": "memoria",
    "gloss.memory": (
        "pico = pesos + gradientes + momentos + activaciones\n"
        "El pico es lo máximo que se ocupó a la vez; activa es la ocupada ahora, entre dos "
        "pasos: pesos y momentos. El límite es lo que MLX puede tomar de esta máquina."
    ),
    "word.moments": "momentos de AdamW",
    "gloss.moments": (
        "m ← β₁·m + (1 − β₁)·g;  v ← β₂·v + (1 − β₂)·g²\n"
        "Dos medias móviles por peso, la de su gradiente y la de su cuadrado. Un paso va según "
        "m / √v. Juntas ocupan el doble de memoria que los pesos."
    ),
    "word.state": "estado",
    "gloss.state": (
        "● en marcha ‖ en pausa ✓ terminada ■ detenida ○ interrumpida ✗ divergida\n"
        "Detenida: se le pidió, y se guardó. Interrumpida: su proceso ya no está. Divergida: "
        "su pérdida dejó de ser un número. {press[train.resume]} continúa cualquiera de las "
        "tres."
    ),
    "word.guessing": "ln V, unigrama, bigrama",
    "gloss.guessing": (
        "ln V;  −Σ p(t) ln p(t);  lo mismo dado el token anterior\n"
        "Lo que cuesta adivinar: a ciegas entre V tokens, por la frecuencia de cada uno, por "
        "lo que sigue a cada uno. Bajo la línea del bigrama el modelo usa más de un token de "
        "contexto."
    ),
    "word.logits": "logits",
    "gloss.logits": (
        "p = softmax(z)\nLas puntuaciones z de todos los tokens antes de ser probabilidades."
    ),
    "word.temperature": "temperatura",
    "gloss.temperature": (
        "softmax(z / T)\n"
        "Por debajo de 1 lo probable lo es más, por encima de 1 todos se acercan; con 0 viene "
        "siempre el más probable."
    ),
    "word.top_k": "top-k",
    "gloss.top_k": "puesto ≤ k\nSolo pueden venir los k más probables; no: todos.",
    "word.top_p": "top-p",
    "gloss.top_p": (
        "los menos tokens con suma de p ≥ top-p\n"
        "Solo pueden venir los más probables que juntos tienen esta probabilidad."
    ),
    "word.min_p": "min-p",
    "gloss.min_p": (
        "p ≥ min-p · la p mayor\n"
        "Solo pueden venir tokens con al menos esta parte de la del más probable."
    ),
    "word.repetition_penalty": "penalización por repetir",
    "gloss.repetition_penalty": (
        "z / r si z > 0, si no z · r\nBaja la puntuación de los tokens que ya se usaron."
    ),
    "word.max_tokens": "máximo de tokens",
    "gloss.max_tokens": (
        "número de tokens nuevos ≤ n\n"
        "El texto acaba tras esos tokens, o antes si el modelo lo acaba."
    ),
    "word.samples": "muestras a la vez",
    "gloss.samples": (
        "azar de la muestra i = f(semilla, i)\n"
        "Tantos textos del mismo comienzo, cada uno con su propio azar; la misma semilla los "
        "da todos otra vez."
    ),
    "word.rivals": "rivales",
    "gloss.rivals": (
        "p = softmax(z);  ahora = p tras T, top-k, top-p, min-p, rep\n"
        "Lo que podría haber venido en lugar de un token, lo más probable primero: según el "
        "modelo y según lo dejan los diales."
    ),
    "word.stream": "corriente residual (residual stream)",
    "gloss.stream": (
        "x ← x + parte(x)\n"
        "El vector que representa a un token. Cada parte del modelo lo lee y le suma algo."
    ),
    "word.attention": "atención (attention)",
    "gloss.attention": (
        "softmax(q·k / √d_head) · v\n"
        "Cada token pregunta (q), lo compara con lo que ofrecen los otros (k) y mezcla lo que "
        "entregan (v). La máscara causal solo le deja los anteriores y él mismo."
    ),
    "word.head": "cabeza de atención (attention head)",
    "gloss.head": (
        "d_head = d_model / n_heads\n"
        "La atención mira n_heads veces a la vez: cada cabeza tiene preguntas, claves y valores "
        "propios de d_head números, y mira otra cosa."
    ),
    "word.rope": "RoPE",
    "gloss.rope": (
        "ángulo = posición · base^(−2j / d)\n"
        "Gira el par j de q y k según la posición, de modo que q·k depende de lo lejos que "
        "están dos tokens."
    ),
    "word.lens": "lente de logits (logit lens)",
    "gloss.lens": (
        "softmax(W · norm(x tras el bloque n))\n"
        "Lee la corriente como si el modelo acabara tras el bloque n."
    ),
    "word.cone": "cono de luz (light cone)",
    "gloss.cone": (
        "|fila(texto) − fila(texto cambiado)|\n"
        "Dónde se nota un token cambiado. Con atención causal nada anterior a él cambia."
    ),
    "word.account": "cuenta del logit",
    "gloss.account": (
        "z = Σ W · (lo que escribió cada parte)\n"
        "Un logit es una suma sobre la corriente, así que cada parte tiene su porción."
    ),
    "word.gradients": "gradientes",
    "gloss.gradients": (
        "g = ∂pérdida / ∂w\n"
        "Cuánto crecería la pérdida si creciera un peso. Donde g es larga, este texto cambiaría "
        "más los pesos."
    ),
    "card.allowed": "permitido: {choices}",
    "card.preset": "el preajuste tiene {value}",
    "card.other": "con {value}: {changes}",
}
