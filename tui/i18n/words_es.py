"""The parts of the pages and the words of the field, as the help explains them in Spanish."""

ES = {
    "help.parts": "Las partes de esta página",
    "help.words": "Palabras",
    "topic.status": "líneas de estado",
    "topic.probes": "muestras",
    "topic.surprise": "sorpresa",
    "topic.log": "registro",
    "topic.table": "tabla",
    "topic.settings": "ajustes",
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
    "word.repetition": "penalización por repetir",
    "gloss.repetition": (
        "z / r si z > 0, si no z · r\nBaja la puntuación de los tokens que ya se usaron."
    ),
    "word.stream": "corriente residual (residual stream)",
    "gloss.stream": (
        "x ← x + parte(x)\n"
        "El vector que representa a un token. Cada parte del modelo lo lee y le suma algo."
    ),
    "word.head": "cabeza de atención (attention head)",
    "gloss.head": (
        "softmax(q·k / √d_head) · v\n"
        "Cada token pregunta (q), lo compara con lo que ofrecen los otros (k) y mezcla lo que "
        "entregan (v)."
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
}
