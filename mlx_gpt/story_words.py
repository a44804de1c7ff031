"""The words, the grammar and the plots of the built-in stories.

A plot is a text. A line that begins with "-" is a step of it, "?" a step that may be left out, and
"|" another wording of the same step. [this|that] is a choice inside a wording, and {h.he} is filled
in by the cast: h the hero, f the friend, and what the plot's own table adds. The first step
completes a sentence like "One day, Mia ...".
"""

import re
from collections.abc import Callable
from typing import NamedTuple


class EnglishCharacter(NamedTuple):
    """Somebody in an English story; as text, the name."""

    name: str
    kind: str
    trait: str
    female: bool
    child: bool

    def __str__(self) -> str:
        return self.name

    @property
    def he(self) -> str:
        """Subject pronoun."""
        return "she" if self.female else "he"

    @property
    def him(self) -> str:
        """Object pronoun."""
        return "her" if self.female else "him"

    @property
    def his(self) -> str:
        """Possessive."""
        return "her" if self.female else "his"

    @property
    def full(self) -> str:
        """Trait and kind: little girl."""
        return f"{self.trait} {self.kind}"

    @property
    def friend(self) -> str:
        """How a friend is named at first: friend Tom, friend Pip the fox."""
        return f"friend {self.name}" if self.child else f"friend {self.name} the {self.kind}"


class SpanishCharacter(NamedTuple):
    """Somebody in a Spanish story; as text, the name."""

    name: str
    kind: str
    trait: str
    female: bool
    child: bool

    def __str__(self) -> str:
        return self.name

    @property
    def o(self) -> str:
        """Ending of adjectives and participles."""
        return "a" if self.female else "o"

    @property
    def lo(self) -> str:
        """Object pronoun."""
        return "la" if self.female else "lo"

    @property
    def el(self) -> str:
        """Subject pronoun."""
        return "ella" if self.female else "él"

    @property
    def full(self) -> str:
        """Article, kind and trait: una niña curiosa."""
        return f"{'una' if self.female else 'un'} {self.kind} {agree(self.trait, self.female)}"

    @property
    def friend(self) -> str:
        """How a friend is named at first: amiga Ana, amigo el oso Tito."""
        kind = "" if self.child else f"{'la' if self.female else 'el'} {self.kind} "
        return f"amig{self.o} {kind}{self.name}"


class EnglishNoun(NamedTuple):
    """A thing, or any phrase; as text, itself."""

    word: str
    adjective: str

    def __str__(self) -> str:
        return self.word

    @property
    def full(self) -> str:
        """With its adjective: red ball."""
        return f"{self.adjective} {self.word}"


class SpanishNoun(NamedTuple):
    """A thing with its article, or any phrase; as text, itself."""

    word: str
    adjective: str

    def __str__(self) -> str:
        return self.word

    @property
    def female(self) -> bool:
        """Gender, read from the article."""
        return self.word.startswith("la ")

    @property
    def n(self) -> str:
        """Without the article: pelota."""
        return self.word.split(" ", 1)[1]

    @property
    def full(self) -> str:
        """With its adjective: pelota roja."""
        return f"{self.n} {agree(self.adjective, self.female)}"

    @property
    def un(self) -> str:
        """With the indefinite article: una pelota."""
        return f"{'una' if self.female else 'un'} {self.n}"

    @property
    def un_full(self) -> str:
        """With both: una pelota roja."""
        return f"{'una' if self.female else 'un'} {self.full}"

    @property
    def o(self) -> str:
        """Ending of adjectives and participles."""
        return "a" if self.female else "o"

    @property
    def lo(self) -> str:
        """Object pronoun."""
        return "la" if self.female else "lo"


def agree(adjective: str, female: bool) -> str:
    """A Spanish adjective, given in the masculine, in the gender asked for."""
    return adjective[:-1] + "a" if female and adjective.endswith("o") else adjective


class Plot(NamedTuple):
    """What happens, step by step; the table's columns are named by fields, one row is drawn."""

    story: str
    fields: tuple[str, ...] = ()
    rows: str = ""
    child: bool = False


class Tongue(NamedTuple):
    """Everything that stories of one language are made of."""

    character: Callable[..., EnglishCharacter | SpanishCharacter]
    noun: Callable[[str, str], EnglishNoun | SpanishNoun]
    female: tuple[tuple[str, ...], tuple[str, ...]]
    male: tuple[tuple[str, ...], tuple[str, ...]]
    traits: tuple[str, ...]
    things: tuple[str, ...]
    adjectives: tuple[str, ...]
    places: str
    elders: tuple[str, ...]
    home: str
    days: tuple[str, ...]
    openings: str
    corrections: tuple[tuple[re.Pattern[str], str], ...]
    plots: tuple[Plot, ...]


def words(text: str) -> tuple[str, ...]:
    """The items of a list written with commas."""
    return tuple(" ".join(text.split()).split(", "))


EN_KINDS = words("rabbit, fox, bear, mouse, cat, duck, squirrel, frog, hedgehog, badger")

EN_PLACES = """
    the park / in the park / under a bench, next to the fountain, behind a tall tree
    the garden / in the garden / among the flowers, under the apple tree, beside the wall
    the forest / in the forest / under a pine tree, between two rocks, behind an old log
    the beach / on the beach / behind a rock, on the warm sand, next to a boat
    the river / by the river / in the tall grass, on a flat stone, beside the bridge
    the farm / on the farm / in the hay, behind the gate, next to the well
    the market / at the market / under a table, behind a basket, next to the bread
    the hill / on the hill / under an oak tree, in the tall grass, on a big rock
"""

EN_OPENINGS = """
    - Once there was a {h.full} named {h}. One {day}, [{h.he}|{h}] {event}.
    | Once upon a time, a {h.full} named {h} lived {home}. One {day}, {h.he} {event}.
    | Once, a {h.full} named {h} {event}.
    | One {day}, a {h.full} named {h} {event}.
    | {h} was a {h.full} who lived {home}. One {day}, {h.he} {event}.
"""

EN_LOST = Plot("""
    - took {h.his} {thing.full} to {place}
    | went to {place} to play with {h.his} {thing.full}
    | was playing {at} with {h.his} {thing.full}
    - a [blue butterfly|yellow bird|green lizard|little snail] came by, and {h} put the {thing}
      {spot} to [look at|follow|watch] it.
    | {h.he} put the {thing} {spot} and [ran after a butterfly|watched the clouds|fell asleep].
    | when {h.he} got hungry, {h.he} put the {thing} {spot} and ate [a apple|a pear|some bread].
    - later, at home, the {thing} was [gone|missing|nowhere to be seen].
    | but when {h.he} got home, {h.he} [could not find|did not have] the {thing}.
    | in the evening, {h} saw that the {thing} was [gone|missing].
    ? {h} looked [under|behind] the [bed|door|table] and in [the kitchen|the cupboard|every box],
      but it was not there.
    | {h} searched every [room|box|drawer|corner] of the house, but found nothing.
    ? {h} [was so sad that {h.he} began to cry|sat down and cried|did not know what to do].
    - "I [cannot find|have lost] my {thing}," {h} told {h.his} {f.friend}. "Where did you have it
      last?" asked {f}.
    | {h.his} {f.friend} came and asked, "Where did you [have it|see it|play with it] last?"
    | "Do not [cry|worry]," said {h.his} {f.friend}. "Where did you [have it|see it] last?"
    - "I was {at}," said {h}. "[Maybe|Perhaps] I left it there."
    | {h} thought [for a while|hard]. "It was {at}!" {h.he} said.
    - They [ran|walked|hurried] back to {place} [together|at once|side by side].
    - There was the {thing}, {spot}, just where {h} had left it.
    | The {thing} was still {spot}, [waiting for {h}|safe and dry|just where {h} had left it].
    | And there, {spot}, they found the {thing}.
    - {h} [hugged|thanked] {f} and [promised to take better care|never again lost sight] of the
      {thing}.
    | "Thank you, {f}!" said {h}, and they played with the {thing} until it was dark.
    | {h} laughed with joy and let {f} play with the {thing} all [day|afternoon].
""")

EN_REPAIR = Plot(
    """
    - was playing with {h.his} {toy.full} {at}
    | took {h.his} {toy.full} to {place}
    - suddenly, {broke}.
    | {h} was not careful, and {broke}.
    | everything went well until {broke}.
    ? "Oh no! My {toy} is broken!" cried {h}.
    | {h} looked at the broken {toy} and [began to cry|felt very sad|did not know what to do].
    | "What will I do now?" said {h}, and a tear fell on the {toy}.
    - {h.he} [carried|brought|took] it to {h.his} {elder}. "Can you [help me|fix it]?" {h.he} asked.
    | {h} took the {toy} home and sat down [on the step|in the kitchen|at the door]. Soon {h.his}
      {elder} came to see what was wrong.
    - "[We can fix it together|That is not so bad|Do not be sad]," said {h.his} {elder}. "All we
      need is {tool}."
    ? {h} found {tool} in [a drawer|the cupboard|a old box|the kitchen].
    | {h} ran to get {tool} from [a drawer|the cupboard|a old box|the kitchen].
    - [Slowly|Carefully|Together], they {mended}.
    | {h} held the {toy} still, and together they {mended}.
    ? It took a long time, but {h} was patient.
    | {h} watched [closely|with big eyes] and learned how to do it.
    - Soon the {toy} was [as good as new|whole again|even better than before].
    | When they were done, the {toy} looked [as good as new|better than before].
    - "Thank you!" said {h}, and ran off to [play with|show everyone] the {toy}.
    | From then on, {h} took [good|great] care of the {toy}.
    | {h} was [proud|happy] because now {h.he} could fix things too.
""",
    ("toy", "broke", "tool", "mended"),
    """
    wagon / one of its wheels came off / a hammer and a nail / put the wheel back on
    kite / a branch made a hole in it / some paper and glue / covered the hole
    doll / one of its arms came off / a needle and some thread / sewed the arm back on
    teddy bear / one of its ears came off / a needle and some thread / sewed the ear back on
    toy boat / its mast broke in two / some strong glue / glued the mast
    basket / its handle broke / a piece of rope / made a new handle
    puppet / its strings broke / a ball of string / tied new strings to it
    toy train / one of its wheels came off / a small screw / put the wheel back on
""",
)

EN_AFRAID = Plot(
    """
    - {event}
    - {h} was very afraid of {fear}.
    | {h.he} began to shake, because {h.he} was afraid of {fear}.
    | {h} had always been afraid of {fear}.
    ? {h.his} heart beat fast, and {h.he} [wanted to run away|could not move|closed {h.his} eyes].
    - {h.his} {f.friend} [saw this|noticed it] and asked, "What is wrong?"
    | "Help!" cried {h}, and {h.his} {f.friend} came running.
    | {h} called {h.his} {f.friend}, who came [at once|right away].
    - "I am afraid," [said|whispered] {h}. "[Do not worry|Do not be afraid]," said {f}. "{said}."
    | {f} took {h.his} hand and said, "{said}."
    | "[I was afraid once too|Everyone is afraid sometimes]," said {f}. "{said}."
    - Then {f} {did}.
    | So {f} {did}.
    - {h} took a deep breath and [smiled|felt brave|stopped shaking].
    | Little by little, {h} [felt better|stopped shaking|grew calm].
    | {h} watched and began to feel better.
    ? {h} even laughed a little.
    - From that [day|moment] on, {h} was not afraid of {fear} any more.
    | "Thank you, {f}," said {h}. "With a friend, I can be brave."
    | {h} and {f} laughed [together|for a long time], and {fear} did not seem so bad any more.
""",
    ("day", "event", "fear", "said", "did"),
    """
    night / saw a strange shadow on the wall / the dark / It is only the shadow of a tree
      / lit a lamp and opened the curtain
    evening / could not sleep because the lamp was out / the dark
      / There is nothing here that was not here by day / looked into every corner with a candle
    night / heard a storm over the house / thunder / Thunder is only a big noise
      / sang a song that was louder than the storm
    day / came to a deep lake / deep water / The water will hold you up
      / walked into the lake first and swam around slowly
    morning / met a big black dog at the gate / big dogs / He only wants to play
      / held out one hand and the dog licked it
    day / had to cross a high bridge / high places / Look at me and not down
      / walked ahead, step by step, to the other side
    morning / found a spider on the pillow / spiders / It is much smaller than you
      / put the spider on a leaf and took it outside
    night / heard a noise under the bed / monsters / Let us look together
      / looked under the bed and found only a lost sock
    evening / heard a strange cry in the trees / the night / That is only a owl
      / pointed to a little owl on a branch
""",
)

EN_COOK = Plot(
    """
    - was very hungry
    | came home [cold|tired] and hungry
    | woke up [very hungry|with a empty stomach]
    ? there was [nothing to eat|no food] in the house, not even a piece of [bread|cheese].
    | {h.he} looked in the cupboard, but it was [almost|quite] empty.
    - "I will make {dish}," {h} [said|thought].
    | {h} decided to make {dish}.
    - {h.he} found {one} in the [barn|garden] and bought {two} at the market.
    | {h.he} went out to get {one}, and a [neighbor|kind farmer|baker] gave {h.him} {two}.
    - Then {h.he} {cooked}.
    | {h} washed {h.his} hands and {cooked}.
    ? Soon the whole house smelled [wonderful|delicious].
    | The good smell went out of the window and down the [road|street].
    - Then there was a knock at the door. It was {h.his} {f.friend}.
    | {h.his} {f.friend} smelled it and knocked at the door.
    - "[That smells good|What a wonderful smell]!" said {f}. "I have not eaten all day."
    | "I am [so hungry|hungry too]," said {f}. "May I have a little?"
    - "Come in," said {h}. "There is enough for [two|both of us]."
    | {h} [was happy to share|smiled] and put another plate on the table.
    ? They sat down and ate together [until nothing was left|and talked|and told stories].
    - {h} was not hungry any more, and not alone either.
    | "Food tastes better with a friend," said {h}.
    | Before going home, {f} washed the plates and said, "Tomorrow, I will cook for you."
""",
    ("dish", "one", "two", "cooked"),
    """
    soup / some carrots / some potatoes / cooked everything in a big pot
    bean soup / some beans / a onion / cooked everything in a big pot
    a apple pie / some apples / some flour and butter / put the pie in the oven
    a berry cake / some berries / some flour and eggs / put the cake in the oven
    pancakes / some eggs / some milk and flour / made a pile of pancakes in the pan
    bread with honey / a jar of honey / some flour / baked two loaves in the oven
    rice with tomatoes / some tomatoes / a bag of rice / cooked everything in a big pan
    a omelet / some eggs / some cheese / cooked everything in the pan
""",
)

EN_RAIN = Plot(
    """
    - and {h.his} {f.friend} set out for {place}
    | was walking to {place} with {h.his} {f.friend}
    | wanted to go to {place} with {h.his} {f.friend}
    ? They [carried a basket with bread and apples|sang and laughed as they walked].
    ? On the way, [dark|gray|black] clouds [covered|filled] the sky.
    | But on the way, the sky turned [dark|gray|black] and a cold wind began to blow.
    - Then it began to rain [hard|very hard], and soon they were wet [and cold|to the skin].
    | Big drops began to fall, and there was [thunder|lightning] in the distance.
    - "We need a dry place," said {h}. "Look!" said {f}. "There is {shelter}!"
    | "Where can we go?" asked {f}. {h} looked around and saw {shelter}.
    - They ran as fast as they could and sat down {inside}.
    | Soon they were {inside}, safe from the rain.
    - There they [told stories|sang songs|shared a apple|counted the drops|played a game] and
      waited.
    | To pass the time, {f} [told a funny story|sang a song|made a little boat out of a leaf].
    ? {h} was [cold|tired], so {f} gave {h.him} a warm scarf.
    - After a while, the rain stopped and [the sun came out|a rainbow stood over the hills].
    - They went on to {place} and jumped into every [puddle|pool] on the way.
    | At last they came to {place}, where everything was [fresh and clean|bright and new].
    - "I like the rain," said {h}, "when I am not alone."
    | "[That was a adventure|What a day]!" said {f}, and {h} [laughed|agreed].
    | They [never forgot|often talked about] that day {inside}.
""",
    ("shelter", "inside"),
    """
    a cave / in the cave
    a old barn / in the old barn
    a empty cabin / in the cabin
    a hollow tree / in the hollow tree
    a stone bridge / under the stone bridge
    a old mill / in the old mill
    a little tent / in the little tent
""",
)

EN_PROMISE = Plot(
    """
    - promised to help {h.his} {f.friend} {do}
    | said that {h.he} would help {h.his} {f.friend} {do} the next day
    ? "I will come [after breakfast|at noon|before dinner]," said {h}. "You can count on me."
    | "That would be a great help," said {f}. "I cannot do it alone."
    | {f} was glad and said, "I will wait for you [at the door|at the gate|in the garden]."
    - But the next day was [warm and sunny|bright and clear], and everyone was going to {fun}.
    | But the next day, {h.his} [cousin|neighbor|brother|sister] said, "Come with us to {fun}!"
    ? {h} wanted to go [too|very much].
    | "[I love {fun}|That would be fun]!" thought {h}.
    - Then {h} remembered {h.his} promise.
    | Then {h} thought of {f}, who was waiting.
    - "I cannot go," {h.he} said. "A promise is a promise."
    | "Maybe another day," {h.he} said. "Today {f} needs me."
    - {h} ran to {f}'s house, and they {done} together.
    | So {h} went to see {f}, and together they {done}.
    ? It was hard work, but they [sang|laughed] all the time.
    - "I knew that you would come," said {f}.
    | "You are a true friend," said {f}, and gave {h.him} [a apple|a cookie|a piece of cake].
    - After that, there was still time, and they went to {fun} together.
    | When the work was done, they both went to {fun}.
    | {h} went home tired but [happy|proud], because {h.he} had kept {h.his} promise.
""",
    ("do", "done", "fun"),
    """
    water the flowers / watered the flowers / the river
    feed the hens / fed the hens / the fair
    pick the apples / picked the apples / the beach
    paint the fence / painted the fence / the circus
    carry the wood / carried the wood / the lake
    clean the windows / cleaned the windows / the park
    bake the bread / baked the bread / the fair
    wash the dog / washed the dog / the beach
    dig the garden / dug the garden / the circus
    look after the sheep / looked after the sheep / the lake
""",
)

EN_GIFT = Plot(
    """
    - remembered that it was the birthday of {h.his} {f.friend}
    | wanted to give a gift to {h.his} {f.friend}
    | was thinking about the birthday of {h.his} {f.friend}
    ? {h.he} [had no money|had only one coin], but {h.he} wanted to give something special.
    | "What could make {f} happy?" {h.he} asked {h.his} {elder}.
    - {h} knew that {f} loved {love}.
    | "I know," thought {h}. "{f} loves {love}!"
    - So {h.he} {made}.
    | {h.he} had a idea and {made}.
    ? It [took all morning|was not easy], but at last the {gift} was [ready|perfect].
    - {h.he} put the {gift} in a box with a [red|blue|green|yellow] ribbon.
    | {h} hid the {gift} in a [red|blue|green|yellow] bag.
    - In the [afternoon|evening], {h} knocked at the door. "[This is for you|Happy birthday]!"
      {h.he} said.
    | Then {h} went to {f}'s house. "I have something for you," {h.he} said.
    - {f} [looked inside|opened it slowly] and saw the {gift}.
    - "It is [beautiful|wonderful|just what I wanted]!" said {f}. "Is it really for me?"
    | "[Oh|Thank you], {h}!" said {f}. "You know how much I love {love}."
    - {h} [nodded|smiled], and they ate [cake|cookies|ice cream] together.
    | {f} kept the {gift} [beside the bed|on the shelf|by the window] for many years.
    | It was the best [gift|surprise] of all, because it came from a friend.
""",
    ("love", "gift", "made"),
    """
    music / flute / made a flute out of a piece of wood
    the sea / shell / found a big white shell on the beach
    stories / book / wrote a little book with pictures
    flowers / rose / planted a rose in a small pot
    birds / picture / painted a picture of a little bird
    the sun / picture / painted a picture of a big yellow sun
    the stars / lamp / made a paper lamp with tiny stars
    the winter / hat / knitted a warm hat
    horses / wooden horse / cut a little horse out of wood
    the color red / scarf / knitted a long red scarf
""",
)

EN_RACE = Plot(
    """
    - and {h.his} {f.friend} had a race to {goal}
    | decided to run a race with {h.his} {f.friend} to {goal}
    ? "I am [faster than you|the fastest of all]," said {f}. "We will see," said {h}.
    | "The first one there gets [a apple|a cookie]," said {f}.
    ? They counted to three and [began to run|ran off|ran like the wind].
    | "One, two, three!" they cried, and off they went.
    - {f} was [fast|quick] and was soon far ahead of {h}.
    | At first they ran side by side, but soon {f} was ahead.
    - Then {f} [tripped over|stepped on] a [root|stone|branch] and fell.
    | Suddenly {f} [tripped over|stepped on] a [root|stone|branch] and fell down.
    ? "Ouch! My [knee|foot|leg] hurts!" cried {f}.
    - Now {h} could win, but {h.he} stopped [at once|and turned around].
    | {h} could see {goal} now, but {h.he} went back to help.
    - "[Are you all right|Can you walk]?" asked {h}. "I think so," said {f}.
    | "Take my hand," said {h}. "[A friend is worth more than a race|We will go together]."
    - {h} helped {f} up, and they walked on [slowly|step by step|arm in arm].
    - They came to {goal} at the same time.
    | Together they reached {goal}.
    - "[We both won|Nobody lost]!" said {f}, and they [laughed|shared a apple].
    | "You are the [real|true] winner," said {f}, and {h} [smiled|was very proud].
    | Then they sat down [in the shade|in the grass] and rested, and nobody asked who had won.
""",
    ("goal",),
    """
    the old bridge
    the big oak tree
    the mill
    the lake
    the top of the hill
    the farm
    the white gate
    the well
""",
)

EN_PET = Plot(
    """
    - saw that {h.his} {pet} {name} was sick
    | woke up and saw that {h.his} {pet} {name} was not well
    | came home and found {h.his} {pet} {name} lying on the floor
    - {name} did not [eat|want to eat] and did not want to play.
    | {name} [looked at {h.him} with sad eyes|could not stand up|was hot and tired].
    ? "Poor {name}!" said {h}. "[I will help you|We must find help]."
    | {h} was very worried and [did not know what to do|asked {h.his} {elder} for help].
    - {h.he} took {name} to the animal doctor, who lived near {place}.
    | {h} put a warm blanket over {name} and called the animal doctor, who came at once.
    ? "[Please help my {pet}|What is wrong with {name}]," {h.he} said.
    - The doctor looked [carefully|closely] and said, "It is {cause}." Then she {cure}.
    | "I see," said the doctor. "It is {cause}." So she {cure}.
    ? "Now {name} needs rest and love," said the doctor.
    - At home, {h} made a soft bed [by the fire|in the corner] and sat beside {name} all night.
    | That night, {h} stayed with {name} and [sang a quiet song|told a long story].
    - In the morning, {name} [ate everything|got up|drank some water] and licked {h.his} hand.
    | The next day, {name} jumped up and wanted to play.
    - {h} [laughed|cried] with joy and hugged {name}.
    | "You are well again!" cried {h}, and they ran to {place} together.
    | From that day on, {h} took even better care of {name}.
""",
    ("pet", "name", "cause", "cure"),
    """
    dog / Spot / a thorn in one foot / pulled out the thorn
    puppy / Biscuit / a bad cold / gave the puppy some warm medicine
    cat / Pepper / a bone in the throat / took out the bone
    kitten / Button / a bad cold / gave the kitten some warm milk and medicine
    pony / Snow / a stone in one foot / took out the stone
    lamb / Cloud / a fever / gave the lamb a bitter medicine
    goat / Star / a bad stomach / gave the goat a bitter tea
    dog / Coco / a hurt leg / put a white bandage on the leg
""",
    child=True,
)

EN_LEARN = Plot(
    """
    - wanted to learn to {do} like {h.his} {f.friend}
    | saw {h.his} {f.friend} {do} and wanted to do it too
    | asked {h.his} {f.friend} to teach {h.him} to {do}
    - {h.he} tried, but {h.he} {fail}.
    | the first time, {h} {fail}.
    | it looked easy, but {h} {fail}.
    ? [Some children|The others] laughed, and {h} [turned red|went home].
    - "I will never learn it," [said|thought] {h}, and sat down [in the grass|on a stone].
    | "This is too hard for me," said {h} with a [sad face|sigh].
    - "Do not give up," said {f}. "I will [show you how|help you]."
    | {f} came and said, "Nobody can {do} on the first day. Let us try it together."
    ? {f} [showed {h.him} how to do it|helped {h.him}], [slowly|step by step].
    | "Watch me first," said {f}. "Now you try!"
    - They [practiced|tried again] every [day|morning|afternoon] for a [week|month].
    | The next day {h} tried again, and the day after that, and the day after that.
    - Then, one [day|morning|afternoon], {h} {done}.
    | At last, on a [sunny|windy|cold] [morning|afternoon], {h} {done}.
    ? "I can do it! I can {do}!" [shouted|cried] {h}.
    | "Look, {f}!" [shouted|cried] {h}. "I did it!"
    - "I knew it," said {f}, and [clapped|gave {h.him} a hug].
    | {f} was as [happy|proud] as {h}.
    | Now it was {h} who taught others to {do}.
""",
    ("do", "fail", "done"),
    """
    swim / swallowed a lot of water / swam across the lake
    ride a bicycle / fell off again and again / rode all the way to the village
    skate / fell down again and again / skated all around the square
    play the flute / made only ugly sounds / played a whole song
    draw a horse / drew something like a potato / drew a horse that looked alive
    bake bread / burned the bread / baked a loaf that was soft and golden
    fly a kite / let the kite fall into a tree / made the kite fly above the roofs
    climb a tree / slid down again and again / climbed to the top of the tallest tree
    read / mixed up all the letters / read a whole page without help
    dance / stepped on everyone's feet / danced like a leaf in the wind
""",
)

EN_RESCUE = Plot(
    """
    - was walking {at} and heard a [sad|strange|small] cry
    | went to {place} and heard a [sad|strange|small] cry
    | heard a [sad|strange|small] cry near {place}
    - It was {animal}, {stuck}.
    | {h} looked around and saw {animal}, {stuck}.
    ? "[Poor little one|Do not be afraid]," said {h}. "I will help you."
    | "[Do not move|Wait for me]!" said {h}.
    - {h.he} tried to reach it, but [it was too far|{h.his} arms were too short].
    | {h} tried and tried, but {h.he} could not do it alone.
    - So {h.he} [ran to|called] {h.his} {f.friend}, who had {tool}.
    | then {h.his} {f.friend} came by with {tool}. "Can you help us?" asked {h}.
    - {h} and {f} {saved}.
    | [Slowly|Carefully], the two friends {saved}.
    ? The little {young} was [cold|hungry|tired], so {h} [gave it some milk|held it in {h.his}
      arms].
    | The little {young} was [shaking|wet], so {f} wrapped it in a [warm|soft] scarf.
    - Then its mother came and called, and the {young} ran to her.
    | They looked for its mother and found her [near the barn|behind a bush|by the road].
    | Nobody knew where its mother was, so the {young} stayed with {h}.
    - "[Good work|Well done], {h}," said {f}. "[Together we are strong|We did it]!"
    | From then on, {h} and {f} had one more friend.
    | {h} went home [late|tired] but happy, and dreamed of the little {young}.
""",
    ("animal", "young", "stuck", "tool", "saved"),
    """
    a kitten / kitten / high up in a tree / a ladder / put up the ladder and brought it down
    a lamb / lamb / at the bottom of a deep hole / a rope / pulled it out with the rope
    a puppy / puppy / on a rock in the river / a long board / made a bridge with the board
    a duckling / duckling / under a heavy branch / a saw / cut the branch in two
    a piglet / piglet / in deep mud / a rope / pulled it out with the rope
    a little goat / goat / behind a high fence / a hammer / opened the fence with the hammer
    a foal / foal / in a bush full of thorns / a pair of scissors / cut the thorns one by one
    a chick / chick / inside a big basket / a long spoon / lifted the heavy lid with the spoon
""",
)

EN_QUARREL = Plot(
    """
    - and {h.his} {f.friend} found a {thing.full} {at}
    | was with {h.his} {f.friend} {at}, and they found a {thing.full}
    ? It was {spot}, and [nobody was there|nobody knew whose it was].
    | It lay {spot}, and they both [saw it|ran to it] at the same time.
    - "It is mine!" said {h}. "I saw it first!" "No, it is mine!" said {f}.
    | "[Give it to me|Let me have it]!" said {h}. "Never!" said {f}. "I want it!"
    ? They both pulled at the {thing}, and neither let go.
    | They [shouted|argued] so loudly that the birds [flew away|stopped singing].
    - A old {who} [heard them|came by] and asked what was wrong.
    | Then a old {who} [came by|heard them] and [stopped|shook {his} head].
    - "If you fight, nobody can [play|be happy]," said the {who}. "Why do you not share it?"
    | "One {thing} and two friends," said the {who}. "Which is worth more?"
    - {h} and {f} looked at the ground and [were ashamed|said nothing].
    | {h} [turned red|felt bad] and let go of the {thing}.
    - "You can have it first," said {h}. "No, you first," said {f}.
    | "[I am sorry|Forgive me], {f}," said {h}. "I am sorry too," said {f}.
    - From then on, {h} had the {thing} in the morning and {f} in the afternoon.
    | So they played with the {thing} together, and it was [more fun|twice as much fun].
    ? They never [fought over|argued about] a {thing} again.
    | In the evening, they were better friends than [ever|before].
    | And the {thing} belonged to both of them.
""",
    ("who", "his"),
    """
    farmer / his
    sailor / his
    gardener / her
    baker / her
    teacher / her
    fisherman / his
    woman / her
    man / his
""",
)

EN_GARDEN = Plot(
    """
    - was [walking|playing] {at} with {h.his} {f.friend} and found a [tiny|strange|brown] seed
    | got a [tiny|strange|brown|little] seed from {h.his} {f.friend}
    | and {h.his} {f.friend} bought a [tiny|strange|brown|little] seed at the market
    - {h} planted it [behind the house|by the fence|near the door|in a big pot] and gave it water.
    | "What will it be?" asked {h}, and planted it [behind the house|by the fence|in a big pot].
    ? Every [morning|day] {h.he} looked, but there was only [dark earth|earth and stones].
    | A week went by, and nothing happened.
    - "It will never grow," {h} said to {h.his} {elder}.
    | "[Why does it not grow|Is it asleep]?" {h} asked {h.his} {elder}.
    - "[Be patient|Wait a little]," said {h.his} {elder}. "[Every seed needs time|Good things are
      slow]."
    - So {h} gave it water every day and [sang to it|pulled out the weeds|kept the birds away].
    | {h} waited and gave it water, in sun and in wind.
    - Then, one [morning|day], a [small|tiny] green leaf came out of the earth.
    | At last, [after the rain|in the spring], a [small|tiny] green leaf came out.
    ? "It is alive!" shouted {h}, and danced around [it|the garden].
    - The plant grew and grew, and in the summer there {was}.
    | By the end of the summer, there {was}.
    - {h} gave the [first|best] {fruit} to {f}.
    | {h} and {f} sat down and looked at {them} [for a long time|until the sun went down].
    - "It was worth the wait," said {h}.
    | And in the fall, {h} kept some seeds for the next year.
""",
    ("was", "fruit", "them"),
    """
    were three tall sunflowers / flower / the sunflowers
    were ten red tomatoes / tomato / the tomatoes
    was a bush full of roses / rose / the roses
    were two huge pumpkins / pumpkin / the pumpkins
    were strawberries everywhere / strawberry / the strawberries
    was a melon as big as a ball / piece / the melon
    were blue flowers everywhere / flower / the flowers
""",
)

EN_HOME = Plot(
    """
    - followed a {bait} into the [forest|woods|hills]
    | saw a {bait} and ran after it into the [forest|woods|hills]
    ? It flew [on and on|from tree to tree|from flower to flower] and never came down.
    | "Wait for me!" called {h}, but the {bait} did not wait.
    - Suddenly it was gone, and {h} [was lost|did not know the way home].
    | When the {bait} was gone, {h} looked around and [saw no path|saw only trees].
    ? It was getting dark, and {h} was [cold|hungry|afraid].
    - "[How will I get home|Where am I]?" {h.he} asked [in a small voice|aloud].
    | {h} sat down on a [stone|log] and began to cry.
    - A old {guide} [heard|saw] {h.him} and came [closer|near].
    | "Why are you [sad|here all alone]?" asked a old {guide}.
    - "I want to go home," said {h}. "Follow {path}," said the {guide}. "{reason}."
    | "I am lost," said {h}. "Then follow {path}," said the {guide}. "{reason}."
    - {h} followed {path} and did not stop until {h.he} saw {h.his} house.
    | {h} thanked the {guide} and followed {path}, [step by step|on and on].
    - {h.his} {elder} was waiting at the door and hugged {h.him}.
    | At home, {h.his} {elder} [cried with joy|gave {h.him} hot soup].
    - The next day, {h} brought the {guide} a [cake|pie|basket of fruit] to say thank you.
    | {h} never forgot the old {guide} and the {bait}.
    | "Next time, I will [stay near the house|look where I am going]," said {h}.
""",
    ("bait", "guide", "path", "reason"),
    """
    blue butterfly / owl / the river / It runs past your house
    white moth / owl / the brightest star / It stands right above your village
    yellow bird / deer / the path by the stones / It ends at your garden
    red butterfly / shepherd / the sound of the bell / It rings in your village
    dragonfly / turtle / the river / It runs past your village
    golden bee / shepherd / the sheep / They are going home too
    green bird / woodcutter / the light / It is the lamp in your window
""",
)

EN_TRUTH = Plot(
    """
    - was [running|dancing|jumping|playing] in the house and knocked over {broken}
    | ran through the house with {h.his} {thing.full} and hit {broken}
    - It fell [to the floor|down] and broke into [many|a hundred|three] pieces.
    | There was a loud crash, and {broken} lay in pieces on the floor.
    - It belonged to {h.his} {owner}, who loved it very much.
    | {h.his} {owner} had [bought it long ago|always loved it].
    ? {h} hid the pieces [under the bed|in a box|behind the curtain] and said nothing.
    | {h} was afraid and [hid the pieces|ran outside|went to bed early].
    ? But {h.he} could not [eat|sleep|play], because {h.he} felt so bad.
    | "What have I done?" {h.he} thought [all day|all night|again and again].
    ? "You must tell the truth," said {h.his} {f.friend}.
    - At last {h} went to {h.his} {owner}. "I broke {broken}," {h.he} said. "I am sorry."
    | "I must tell you something," {h} said to {h.his} {owner}. "I broke {broken}."
    ? {h.his} {owner} was [silent|quiet] for a moment and then [smiled|took {h.his} hand].
    | {h} waited for angry words, but they did not come.
    - "[A thing can be replaced|It was only a thing]," said {h.his} {owner}. "[The truth is worth
      more|I am glad that you told me]."
    - Together they [picked up the pieces|cleaned the floor] and [drank some tea|ate some cake].
    | {h} saved {h.his} coins for a month and bought a new one.
    - Now {h} slept [well|in peace] again, because {h.his} heart was light.
    | After that, {h} always told the truth, even when it was hard.
""",
    ("broken", "owner"),
    """
    the blue vase / grandmother
    the old clock / grandfather
    the white lamp / mother
    the flower pot / aunt
    the big mirror / mother
    the green teapot / grandmother
    the glass bowl / father
    the model ship / uncle
""",
)

ENGLISH = Tongue(
    character=EnglishCharacter,
    noun=EnglishNoun,
    female=(
        words("Mia, Lily, Anna, Zoe, Ruby, Ella, Nora, Rosa, Grace, Ivy, Lucy, Emma, Daisy, Molly"),
        ("girl", *EN_KINDS),
    ),
    male=(
        words("Tom, Ben, Sam, Max, Leo, Jack, Finn, Noah, Oscar, Tim, Theo, Dan, Hugo, Peter"),
        ("boy", *EN_KINDS),
    ),
    traits=words("little, small, kind, brave, clever, cheerful, shy, quiet, curious, young"),
    things=words("""ball, kite, doll, drum, bell, whistle, flute, puppet, toy boat, toy car, toy
      sword,
        teddy bear, wooden horse, jump rope"""),
    adjectives=words("red, blue, green, yellow, white, old, new, small, pretty, orange"),
    places=EN_PLACES,
    elders=words("mother, father, grandmother, grandfather, aunt, uncle"),
    home="""in a [small|white|old|tiny|warm] [house|cottage|cabin]
        [by the sea|near the forest|on a hill|by a river|at the end of the village]""",
    days=words("""day, day, day, day, sunny morning, bright morning, warm afternoon, spring morning,
        summer day, Sunday, Saturday"""),
    openings=EN_OPENINGS,
    corrections=((re.compile(r"\b([Aa]) (?=[aeiou])"), r"\1n "),),
    plots=(
        EN_LOST,
        EN_REPAIR,
        EN_AFRAID,
        EN_COOK,
        EN_RAIN,
        EN_PROMISE,
        EN_GIFT,
        EN_RACE,
        EN_PET,
        EN_LEARN,
        EN_RESCUE,
        EN_QUARREL,
        EN_GARDEN,
        EN_HOME,
        EN_TRUTH,
    ),
)


ES_PLACES = """
    el parque / en el parque / debajo de un banco, junto a la fuente, detrás de un árbol
    el jardín / en el jardín / entre las flores, debajo del manzano, junto al muro
    el bosque / en el bosque / debajo de un pino, entre dos piedras, detrás de un tronco
    la playa / en la playa / detrás de una roca, sobre la arena, junto a una barca
    el río / junto al río / entre la hierba alta, sobre una piedra, al lado del puente
    la granja / en la granja / entre la paja, detrás de la puerta, al lado del pozo
    el mercado / en el mercado / debajo de una mesa, detrás de un cesto, al lado del pan
    la colina / en la colina / debajo de un roble, entre la hierba alta, sobre una roca grande
"""

ES_OPENINGS = """
    - Había una vez {h.full} que se llamaba {h}. {day}, [{h} |]{event}.
    | Había una vez {h.full} llamad{h.o} {h}, que vivía {home}. {day}, {h} {event}.
    | {day}, {h.full} que se llamaba {h} {event}.
    | {day}, {h.full} llamad{h.o} {h} {event}.
    | {h} era {h.full} que vivía {home}. {day}, [{h} |]{event}.
"""

ES_LOST = Plot("""
    - llevó su {thing.full} a {place}
    | fue a {place} a jugar con su {thing.full}
    | estaba jugando {at} con su {thing.full}
    - pasó por allí [una mariposa azul|un pájaro amarillo|una lagartija verde|un caracol], y {h}
      dejó {thing} {spot} para [acercarse|mirar de cerca].
    | dejó {thing} {spot} y [corrió detrás de una mariposa|miró las nubes|se quedó dormid{h.o}].
    | cuando tuvo hambre, dejó {thing} {spot} y se comió [una manzana|una pera|un bocadillo].
    - más tarde, en casa, {thing} no [estaba|aparecía] por ninguna parte.
    | pero al volver a casa, {h} [ya no tenía|no encontraba] {thing}.
    | por la noche, {h} vio que {thing} no estaba.
    ? {h} buscó [debajo de la cama|detrás de la puerta|debajo de la mesa] y en [la cocina|el
      armario|todas las cajas], pero no {thing.lo} encontró.
    | {h} miró en todos los [cuartos|cajones|rincones] de la casa, pero no encontró nada.
    ? {h} [se puso a llorar|se sentó y lloró|no sabía qué hacer].
    - «[He perdido|No encuentro] mi {thing.n}», le dijo {h} a su {f.friend}. «¿Dónde {thing.lo}
      viste por última vez?», preguntó {f}.
    | vino su {f.friend} y preguntó: «¿Dónde {thing.lo} [viste|dejaste] por última vez?».
    | «No [llores|te preocupes]», dijo su {f.friend}. «¿Dónde {thing.lo} viste por última vez?».
    - «Estuve {at}», dijo {h}. «[Quizá|Tal vez] {thing.lo} dejé allí».
    | {h} pensó un [rato|momento]. «¡Fue {at}!», [dijo|exclamó].
    - volvieron [junt{os}|enseguida|a toda prisa] a {place}.
    - allí estaba {thing}, {spot}, donde {h} {thing.lo} había dejado.
    | {thing} seguía {spot}, [sec{thing.o} y a salvo|donde {h} {thing.lo} había dejado].
    | y allí, {spot}, encontraron {thing}.
    - {h} [abrazó|dio las gracias] a {f} y prometió cuidar mejor su {thing.n}.
    | «¡Gracias, {f}!», dijo {h}, y l{os} dos jugaron con {thing} hasta la noche.
    | {h} se rio de alegría y dejó que {f} jugara con {thing} [toda la tarde|todo el día].
""")

ES_REPAIR = Plot(
    """
    - estaba jugando {at} con su {toy.full}
    | llevó su {toy.full} a {place}
    - de repente, {broke}.
    | {h} no tuvo cuidado, y {broke}.
    | todo iba bien hasta que {broke}.
    ? «¡Oh, no! ¡Mi {toy.n} está rot{toy.o}!», gritó {h}.
    | {h} miró {toy} rot{toy.o} y [empezó a llorar|se puso muy triste|no supo qué hacer].
    | «¿Qué voy a hacer ahora?», dijo {h}, y se le cayó una lágrima.
    - le llevó {toy} a su {elder}. «¿Me ayudas?», preguntó.
    | {h} volvió a casa y se sentó [en la escalera|en la cocina|junto a la puerta]. Enseguida vino
      su {elder} a ver qué pasaba.
    - «[Podemos arreglar{toy.lo}|No es tan grave|No estés triste]», dijo su {elder}. «Solo
      necesitamos {tool}».
    ? {h} encontró {tool} en [un cajón|el armario|una caja vieja|la cocina].
    | {h} sacó {tool} de [un cajón|el armario|una caja vieja].
    - [despacio|con mucho cuidado|con paciencia], {mended}.
    | {h} y su {elder} {mended}.
    ? tardaron mucho, pero {h} tuvo paciencia.
    | {h} miró [con atención|con los ojos muy abiertos] y aprendió cómo se hacía.
    - pronto {toy} quedó como nuev{toy.o}.
    | cuando terminaron, {toy} [parecía nuev{toy.o}|estaba mejor que antes].
    - «¡Gracias!», dijo {h}, y se fue corriendo a jugar con {toy}.
    | desde entonces, {h} cuidó [mucho|muy bien] su {toy.n}.
    | {h} estaba [content{h.o}|orgullos{h.o}], porque ahora también sabía arreglar cosas.
""",
    ("toy", "broke", "tool", "mended"),
    """
    el carro / al carro se le soltó una rueda / un martillo y un clavo
      / volvieron a poner la rueda
    la cometa / una rama hizo un agujero en la cometa / papel y pegamento / taparon el agujero
    la muñeca / a la muñeca se le soltó un brazo / una aguja y hilo / cosieron el brazo
    el osito / al osito se le cayó una oreja / una aguja y hilo / cosieron la oreja
    el barco / al barco se le rompió el mástil / un poco de pegamento / pegaron el mástil
    la cesta / a la cesta se le rompió el asa / un trozo de cuerda / hicieron un asa nueva
    la marioneta / a la marioneta se le rompieron los hilos / un ovillo de hilo
      / ataron unos hilos nuevos
    el tren / al tren se le soltó una rueda / un tornillo pequeño / volvieron a poner la rueda
""",
)

ES_AFRAID = Plot(
    """
    - {event}
    - {h} tenía mucho miedo de {fear}.
    | empezó a temblar, porque tenía miedo de {fear}.
    | {h} siempre había tenido miedo de {fear}.
    ? el corazón le latía deprisa, y [quería salir corriendo|no podía moverse|cerró los ojos].
    - su {f.friend} [lo vio|se dio cuenta] y preguntó: «¿Qué te pasa?».
    | «¡Socorro!», gritó {h}, y su {f.friend} vino corriendo.
    | {h} llamó a su {f.friend}, que vino [enseguida|al momento].
    - «Tengo miedo», [dijo|susurró] {h}. «No te preocupes», dijo {f}. «{said}».
    | {f} le [dio|tomó] la mano y dijo: «{said}».
    | «[Yo también tuve miedo una vez|Todos tenemos miedo a veces]», dijo {f}. «{said}».
    - [entonces|luego] {f} {did}.
    - {h} respiró hondo y [sonrió|se sintió valiente|dejó de temblar].
    | poco a poco, {h} [se sintió mejor|dejó de temblar|se calmó].
    ? {h} hasta se rio un poco.
    - desde aquel [día|momento], {h} ya no tuvo miedo de {fear}.
    | «Gracias, {f}», dijo {h}. «A tu lado soy valiente».
    | {h} y {f} se rieron [un buen rato|mucho], y el miedo se fue.
""",
    ("day", "event", "fear", "said", "did"),
    """
    una noche / vio una sombra extraña en la pared / la oscuridad
      / Solo es la sombra de un árbol / encendió una lámpara y abrió la cortina
    una noche / no podía dormir porque la lámpara estaba apagada / la oscuridad
      / Aquí hay lo mismo que de día / miró en todos los rincones con una vela
    una noche / oyó una tormenta encima de la casa / los truenos / Un trueno solo es un ruido
      / cantó una canción más fuerte que la tormenta
    un día / llegó a un lago profundo / el agua / El agua te sostiene
      / entró primero en el lago y nadó despacio
    una mañana / vio un perro grande y negro en la puerta / los perros grandes
      / Solo quiere jugar / acercó una mano y el perro se la lamió
    un día / tenía que cruzar un puente muy alto / las alturas / Mírame a mí y no mires abajo
      / cruzó primero, paso a paso, hasta el otro lado
    una mañana / encontró una araña en la almohada / las arañas / Es mucho más pequeña que tú
      / puso la araña en una hoja y la llevó afuera
    una noche / oyó un ruido debajo de la cama / los monstruos / Vamos a mirar
      / miró debajo de la cama y solo encontró un calcetín
    una tarde / oyó un grito extraño entre los árboles / los ruidos del bosque / Solo es un búho
      / señaló un pequeño búho en una rama
""",
)

ES_COOK = Plot(
    """
    - tenía mucha hambre
    | llegó a casa con [frío y hambre|mucha hambre]
    | se despertó con [mucha hambre|el estómago vacío]
    ? en casa no había [nada de comer|comida], ni siquiera un trozo de [pan|queso].
    | miró en el armario, pero estaba [vacío|casi vacío].
    - «Voy a hacer {dish}», [dijo|pensó] {h}.
    | {h} decidió hacer {dish}.
    - encontró {one} en el [granero|jardín] y compró {two} en el mercado.
    | salió a buscar {one}, y [un vecino|una vecina|el panadero|una granjera] le dio {two}.
    - [luego|después] {cooked}.
    | {h} se lavó las manos y {cooked}.
    ? pronto toda la casa olía [muy bien|de maravilla].
    | el olor salió por la ventana y llegó hasta la [calle|plaza].
    - entonces llamaron a la puerta. Era su {f.friend}.
    | su {f.friend} lo olió y llamó a la puerta.
    - «¡[Qué bien huele|Qué olor tan rico]!», dijo {f}. «No he comido en todo el día».
    | «Tengo [mucha|tanta] hambre», dijo {f}. «¿Puedo probar un poco?».
    - «Pasa», dijo {h}. «Hay bastante para l{os} dos».
    | {h} [sonrió|se alegró] y puso otro plato en la mesa.
    ? se sentaron y comieron [junt{os}|hasta que no quedó nada|y hablaron|y contaron cuentos].
    - {h} ya no tenía hambre y tampoco estaba sol{h.o}.
    | «En compañía, todo sabe mejor», dijo {h}.
    | antes de irse, {f} lavó los platos y dijo: «Mañana cocino yo».
""",
    ("dish", "one", "two", "cooked"),
    """
    una sopa / unas zanahorias / unas patatas / lo cocinó todo en una olla grande
    una sopa de judías / unas judías / una cebolla / lo cocinó todo en una olla grande
    una tarta de manzana / unas manzanas / harina y mantequilla / metió la tarta en el horno
    un pastel de fresas / unas fresas / harina y huevos / metió el pastel en el horno
    unas tortitas / unos huevos / leche y harina / hizo un montón de tortitas en la sartén
    pan con miel / un bote de miel / una bolsa de harina / hizo un pan redondo en el horno
    arroz con tomate / unos tomates / una bolsa de arroz / lo cocinó todo en una sartén
    una tortilla / unos huevos / un poco de queso / lo cocinó todo en la sartén
""",
)

ES_RAIN = Plot(
    """
    - salió con su {f.friend} hacia {place}
    | iba a {place} con su {f.friend}
    | quería ir a {place} con su {f.friend}
    ? [llevaban una cesta con pan y manzanas|cantaban y reían por el camino].
    ? por el camino, unas nubes [negras|oscuras|grises] cubrieron el cielo.
    | pero el cielo se puso [negro|oscuro|gris] y empezó a soplar un viento frío.
    - entonces empezó a llover [mucho|muy fuerte], y pronto [tenían frío|estaban empapad{os}].
    | empezaron a caer gotas muy grandes, y a lo lejos se oyó un trueno.
    - «Necesitamos un lugar seco», dijo {h}. «¡Mira!», dijo {f}. «¡Allí hay {shelter}!».
    | «¿Adónde vamos?», preguntó {f}. {h} miró a su alrededor y vio {shelter}.
    - corrieron [tan rápido como pudieron|a toda prisa] y se sentaron {inside}.
    | pronto estaban {inside}, a salvo de la lluvia.
    - allí [contaron cuentos|cantaron canciones|compartieron una manzana|contaron las gotas] y
      esperaron.
    | para pasar el rato, {f} [contó un cuento|cantó una canción|hizo un barquito con una hoja].
    ? {h} tenía frío, y {f} le dio una bufanda.
    - después de un rato, dejó de llover y [salió el sol|apareció el arcoíris].
    - siguieron hasta {place} y saltaron en todos los charcos del camino.
    | por fin llegaron a {place}, donde todo estaba [limpio y fresco|brillante y como nuevo].
    - «Me gusta la lluvia», dijo {h}, «cuando no estoy sol{h.o}».
    | «¡[Qué aventura|Vaya día]!», dijo {f}, y {h} [se rio|le dio la razón].
    | [nunca olvidaron|a menudo recordaban] aquel día {inside}.
""",
    ("shelter", "inside"),
    """
    una cueva / en la cueva
    un granero viejo / en el granero
    una cabaña vacía / en la cabaña
    un árbol hueco / en el árbol hueco
    un puente de piedra / debajo del puente
    un molino viejo / en el molino
    un pequeño cobertizo / en el cobertizo
""",
)

ES_PROMISE = Plot(
    """
    - prometió ayudar a su {f.friend} a {do}
    | quedó con su {f.friend} para {do} al día siguiente
    ? «Iré [después del desayuno|al mediodía|antes de comer]», dijo {h}. «Te lo prometo».
    | «Tu ayuda me vendrá muy bien», dijo {f}. «Yo sol{f.o} no puedo».
    | {f} se alegró y dijo: «Te espero [en la puerta|en el jardín|en casa]».
    - pero al día siguiente hacía [sol|muy buen tiempo], y todos iban a {fun}.
    | pero al día siguiente, su [primo|prima|vecino|vecina|hermano|hermana] le dijo: «¡Ven con
      nosotros a {fun}!».
    ? {h} [también quería ir|tenía muchas ganas de ir].
    | «¡Me encanta {fun}!», pensó {h}.
    - entonces {h} se acordó de su promesa.
    | entonces {h} pensó en {f}, que estaba esperando.
    - «No puedo ir», dijo. «Lo prometido es deuda».
    | «Otro día», dijo. «Hoy {f} me necesita».
    - {h} fue corriendo a casa de {f}, y {done} junt{os}.
    | así que fue a ver a {f}, y entre l{os} dos {done}.
    ? era mucho trabajo, pero [cantaban|reían] todo el tiempo.
    - «Sabía que vendrías», dijo {f}.
    | «Siempre cumples tu palabra», dijo {f}, y le dio [una manzana|una galleta|un pastel].
    - después todavía quedaba tiempo, y fueron junt{os} a {fun}.
    | cuando terminaron, l{os} dos fueron a {fun}.
    | {h} volvió a casa [cansad{h.o} pero content{h.o}|content{h.o}], porque había cumplido su
      promesa.
""",
    ("do", "done", "fun"),
    """
    regar las flores / regaron las flores / el río
    dar de comer a las gallinas / dieron de comer a las gallinas / la feria
    recoger las manzanas / recogieron las manzanas / la playa
    pintar la valla / pintaron la valla / el circo
    cortar la leña / cortaron la leña / el lago
    limpiar las ventanas / limpiaron las ventanas / el parque
    hacer el pan / hicieron el pan / la feria
    bañar al perro / bañaron al perro / la playa
    plantar los árboles / plantaron los árboles / el circo
    cuidar las ovejas / cuidaron las ovejas / el lago
""",
)

ES_GIFT = Plot(
    """
    - se acordó del cumpleaños de su {f.friend}
    | quería hacerle un regalo a su {f.friend}
    | pensaba en el cumpleaños de su {f.friend}
    ? [no tenía dinero|solo tenía una moneda], pero quería regalarle algo especial.
    | «¿Qué puedo regalarle a {f}?», le preguntó a su {elder}.
    - {h} sabía que a {f} le {gustaba}.
    | «Ya lo sé», pensó {h}. «¡A {f} le {gusta}!».
    - así que {made}.
    | tuvo una idea y {made}.
    ? [tardó toda la mañana|no fue fácil], pero {gift} era [precios{gift.o}|perfect{gift.o}].
    - metió {gift} en una caja con un lazo [rojo|azul|verde|amarillo].
    | {h} escondió {gift} en una bolsa [roja|azul|verde|amarilla].
    - por la tarde, {h} llamó a su puerta. «¡[Esto es para ti|Tengo una sorpresa]!», dijo.
    | luego {h} fue a casa de {f}. «Tengo algo para ti», dijo.
    - {f} [miró dentro|abrió el regalo despacio] y vio {gift}.
    - «¡Es [precios{gift.o}|justo lo que quería]!», dijo {f}. «¿De verdad es para mí?».
    | «¡Gracias, {h}!», dijo {f}. «Tú sabes cuánto me {gusta}».
    - {h} [asintió|sonrió], y l{os} dos comieron [tarta|galletas|helado].
    | {f} puso {gift} [junto a la cama|en un estante|cerca de la ventana].
    | fue el mejor regalo de todos, porque venía del corazón.
""",
    ("gusta", "gustaba", "gift", "made"),
    """
    gusta la música / gustaba la música / la flauta / hizo una flauta con un trozo de madera
    gusta el mar / gustaba el mar / la concha / encontró una concha blanca en la playa
    gustan los cuentos / gustaban los cuentos / el libro / escribió un pequeño libro con dibujos
    gustan las flores / gustaban las flores / la rosa / plantó una rosa en una maceta
    gustan los pájaros / gustaban los pájaros / el dibujo / hizo un dibujo de un pájaro
    gusta el sol / gustaba el sol / el cuadro / pintó un cuadro de un sol amarillo
    gustan las estrellas / gustaban las estrellas / la lámpara / hizo una lámpara con estrellas
    gusta el invierno / gustaba el invierno / el gorro / tejió un gorro de lana
    gustan los caballos / gustaban los caballos / el caballito / hizo un caballito de madera
    gusta el color rojo / gustaba el color rojo / la bufanda / tejió una larga bufanda roja
""",
)

ES_RACE = Plot(
    """
    - quería hacer una carrera con su {f.friend} hasta {goal}
    | hizo una carrera con su {f.friend} hasta {goal}
    | retó a su {f.friend} a una carrera hasta {goal}
    ? «Soy más rápid{f.o} que tú», dijo {f}. «Ya veremos», dijo {h}.
    | «Quien llegue primero gana [una manzana|una galleta]», dijo {f}.
    ? contaron hasta tres y [empezaron a correr|salieron corriendo|corrieron como el viento].
    | «¡Una, dos y tres!», gritaron, y salieron corriendo.
    - {f} corría mucho y pronto iba muy por delante de {h}.
    | al principio corrían lado a lado, pero pronto {f} iba delante.
    - entonces {f} [tropezó con|pisó] una [raíz|piedra|rama] y se cayó.
    | de repente, {f} [tropezó con|pisó] una [raíz|piedra|rama] y se cayó al suelo.
    ? «¡Ay! ¡Me duele [la rodilla|el pie|la pierna]!», gritó {f}.
    - ahora {h} podía ganar, pero se paró [enseguida|y dio la vuelta].
    | {h} ya veía {goal}, pero volvió para ayudar.
    - «¿[Estás bien|Puedes andar]?», preguntó {h}. «Creo que sí», dijo {f}.
    | «Dame la mano», dijo {h}. «[Tú vales más que una carrera|Iremos junt{os}]».
    - {h} ayudó a {f} a levantarse, y siguieron [despacio|paso a paso|de la mano].
    - llegaron a {goal} al mismo tiempo.
    | junt{os} llegaron a {goal}.
    - «¡[Hemos ganado l{os} dos|Nadie ha perdido]!», dijo {f}, y [se rieron|se abrazaron].
    | «Has ganado tú», dijo {f}, y {h} [sonrió|se puso muy content{h.o}].
    | luego se sentaron [a la sombra|en la hierba], y nadie preguntó quién había ganado.
""",
    ("goal",),
    """
    el puente viejo
    el roble grande
    el molino
    el lago
    la cima de la colina
    la granja
    la puerta blanca
    el pozo
""",
)

ES_PET = Plot(
    """
    - vio que su {pet.n} {name} estaba enferm{pet.o}
    | se despertó y vio que su {pet.n} {name} no estaba bien
    | llegó a casa y encontró a su {pet.n} {name} en el suelo
    - {name} no [comía|quería comer] y tampoco quería jugar.
    | {name} [miraba con ojos tristes|no podía levantarse|estaba muy cansad{pet.o}].
    ? «¡[Pobre {name}|Pobrecit{pet.o}]!», dijo {h}. «Te voy a ayudar».
    | {h} se preocupó mucho y [no sabía qué hacer|le pidió ayuda a su {elder}].
    - {h} llevó a {name} a casa de la veterinaria, que vivía cerca de {place}.
    | {h} le puso una manta a {name} y llamó a la veterinaria, que vino enseguida.
    ? «Por favor, ayude a mi {pet.n}», dijo {h}.
    | «¿Qué le pasa a {name}?», preguntó {h}.
    - la veterinaria miró con [cuidado|atención] y dijo: «Tiene {cause}». Luego {cure}.
    | «Ya veo», dijo la veterinaria. «Tiene {cause}». Y {cure}.
    ? «Ahora {name} necesita descanso y cariño», dijo la veterinaria.
    - {h} preparó una cama blanda [junto al fuego|en un rincón] y pasó la noche al lado de {name}.
    | aquella noche, {h} se quedó con {name} y [cantó una canción|contó un cuento largo].
    - por la mañana, {name} [se lo comió todo|se levantó|bebió agua] y le lamió la mano.
    | al día siguiente, {name} se levantó de un salto y quería jugar.
    - {h} [se rio|lloró] de alegría y abrazó a {name}.
    | «¡Ya estás bien!», gritó {h}, y se fueron corriendo a {place}.
    | desde aquel día, {h} cuidó aún mejor a {name}.
""",
    ("pet", "name", "cause", "cure"),
    """
    el perro / Canelo / una espina en la pata / le sacó la espina
    el cachorro / Galleta / un resfriado / le dio un jarabe dulce
    la gata / Pelusa / un hueso en la garganta / le sacó el hueso
    el gatito / Botón / un resfriado / le dio leche caliente con una medicina
    el poni / Trueno / una piedra en la pata / le sacó la piedra
    la oveja / Nube / fiebre / le dio una medicina amarga
    la cabra / Estrella / dolor de barriga / le dio un té amargo
    la perra / Mora / una herida en la pata / le puso una venda blanca
""",
    child=True,
)

ES_LEARN = Plot(
    """
    - quería aprender a {do} como su {f.friend}
    | vio a su {f.friend} {do} y quiso hacerlo también
    | le pidió a su {f.friend} que le enseñara a {do}
    - lo intentó, pero {fail}.
    | la primera vez, {h} {fail}.
    | parecía fácil, pero {h} {fail}.
    ? [algunos niños|los demás] se rieron, y {h} [se puso roj{h.o}|se fue a casa].
    - «Nunca aprenderé», [dijo|pensó] {h}, y se sentó en [la hierba|una piedra].
    | «Es demasiado difícil para mí», dijo {h} con [cara triste|un suspiro].
    - «No te rindas», dijo {f}. «Yo te [enseño|ayudo]».
    | {f} vino y dijo: «Nadie sabe {do} el primer día. Vamos a intentarlo otra vez».
    ? {f} [le enseñó cómo se hacía|ayudó a {h}], [poco a poco|paso a paso].
    | «Primero mírame a mí», dijo {f}. «¡Ahora tú!».
    - [practicaron|lo intentaron] tod[os los días|as las mañanas|as las tardes] durante [una
      semana|un mes].
    | al día siguiente, {h} lo intentó otra vez, y al otro, y al otro.
    - y [un día|una mañana|una tarde], por fin, {h} {done}.
    | por fin, [una mañana de sol|una tarde de viento|un domingo], {h} {done}.
    ? «¡[Puedo hacerlo|Ya sé {do}]!», [gritó|exclamó] {h}.
    | «¡Mira, {f}!», [gritó|exclamó] {h}. «¡Lo he conseguido!».
    - «Lo sabía», dijo {f}, y [aplaudió|le dio un abrazo].
    | {f} estaba tan [content{f.o}|orgullos{f.o}] como {h}.
    | ahora era {h} quien enseñaba a los demás a {do}.
""",
    ("do", "fail", "done"),
    """
    nadar / tragó mucha agua / nadó hasta el otro lado del lago
    montar en bicicleta / se cayó una y otra vez / fue en bicicleta hasta el pueblo
    patinar / se cayó una y otra vez / patinó alrededor de toda la plaza
    tocar la flauta / solo hizo ruidos feos / tocó una canción entera
    dibujar un caballo / dibujó una especie de patata / dibujó un caballo que parecía vivo
    hacer pan / quemó el pan / hizo un pan blando y dorado
    volar una cometa / perdió la cometa en un árbol / hizo volar la cometa sobre los tejados
    trepar a los árboles / resbaló una y otra vez / subió al árbol más alto
    leer / confundió todas las letras / leyó una página entera sin ayuda
    bailar / pisó a todo el mundo / bailó como una hoja al viento
""",
)

ES_RESCUE = Plot(
    """
    - paseaba cerca de {place} cuando oyó un llanto [triste|extraño|muy débil]
    | fue a {place} y oyó un llanto [triste|extraño|muy débil]
    | oyó un llanto [triste|extraño|muy débil] cerca de {place}
    - era {young.un}, atrapad{young.o} {stuck}.
    | {h} miró a su alrededor y vio {young.un}, atrapad{young.o} {stuck}.
    ? «[Pobrecit{young.o}|No tengas miedo]», dijo {h}. «Te voy a ayudar».
    | «¡[No te muevas|Espera]!», dijo {h}.
    - intentó llegar hasta {young}, pero [estaba demasiado lejos|no pudo].
    | lo intentó una y otra vez, pero sol{h.o} no podía.
    - así que [fue a buscar|llamó] a su {f.friend}, que tenía {tool}.
    | entonces pasó por allí su {f.friend} con {tool}. «¿Nos ayudas?», preguntó {h}.
    - {h} y {f} {saved}.
    | [despacio|con cuidado], l{os} dos {saved}.
    ? {young} tenía hambre, y {h} le dio un poco de leche.
    | {young} tenía frío, y {f} le puso una bufanda [suave|caliente].
    | {young} estaba temblando, y {h} {young.lo} tomó en brazos.
    - entonces llegó su madre, y {young} corrió hacia ella.
    | buscaron a su madre y la encontraron [cerca del granero|detrás de un arbusto|en el camino].
    | nadie sabía dónde estaba su madre, así que {young} se quedó con {h}.
    - «[Muy bien|Bien hecho], {h}», dijo {f}. «[Junt{os} somos fuertes|Lo hemos conseguido]».
    | desde entonces, {h} y {f} tuvieron un amigo más.
    | {h} volvió a casa [tarde|cansad{h.o}] pero content{h.o}, y soñó con {young}.
""",
    ("young", "stuck", "tool", "saved"),
    """
    el gatito / en lo alto de un árbol / una escalera / pusieron la escalera y lo bajaron
    el cordero / en el fondo de un agujero / una cuerda / lo sacaron con la cuerda
    el cachorro / en una roca del río / una tabla larga / hicieron un puente con la tabla
    el patito / debajo de una rama pesada / una sierra / cortaron la rama en dos
    el cerdito / en el barro / una cuerda / lo sacaron con la cuerda
    la cabrita / detrás de una valla alta / un martillo / abrieron la valla con el martillo
    el potro / en un arbusto con espinas / unas tijeras / cortaron las espinas una por una
    el pollito / dentro de una cesta grande / un palo / levantaron la tapa con el palo
""",
)

ES_QUARREL = Plot(
    """
    - estaba {at} con su {f.friend} cuando encontraron {thing.un_full}
    | fue a {place} con su {f.friend}, y encontraron {thing.un_full}
    ? estaba {spot}, y [no había nadie cerca|nadie sabía de quién era].
    | estaba {spot}, y l{os} dos {thing.lo} vieron al mismo tiempo.
    - «¡Es mí{thing.o}!», dijo {h}. «¡Yo {thing.lo} vi primero!». «¡No, es mí{thing.o}!», dijo {f}.
    | «¡Dáme{thing.lo}!», dijo {h}. «¡Nunca!», dijo {f}. «¡{thing.lo} quiero yo!».
    ? l{os} dos tiraban de {thing}, y nadie {thing.lo} soltaba.
    | [gritaban|discutían] tanto que los pájaros [se fueron volando|dejaron de cantar].
    - {who.un} l{os} oyó y [preguntó qué pasaba|se acercó].
    | entonces pasó por allí {who.un} y preguntó qué pasaba.
    - «Si os peleáis, nadie puede [jugar|ser feliz]», dijo {who}. «¿Por qué no {thing.lo}
      compartís?».
    | «{thing.un} y dos amig{os}», dijo {who}. «¿Qué vale más?».
    - {h} y {f} miraron al suelo [con vergüenza|sin decir nada].
    | {h} [se puso roj{h.o}|se sintió mal] y soltó {thing}.
    - «Tú primero», dijo {h}. «No, tú primero», dijo {f}.
    | «[Lo siento|Perdóname], {f}», dijo {h}. «Yo también lo siento», dijo {f}.
    - desde entonces, {h} tenía {thing} por la mañana y {f} por la tarde.
    | así que jugaron junt{os} con {thing}, y fue [mucho más|el doble de] divertido.
    ? nunca más se pelearon por {thing.un}.
    | por la noche eran mejores amig{os} que [nunca|antes].
    | y {thing} fue de l{os} dos.
""",
    ("who",),
    """
    el granjero
    el marinero
    la jardinera
    la panadera
    la maestra
    el pescador
    la anciana
    el anciano
""",
)

ES_GARDEN = Plot(
    """
    - estaba {at} con su {f.friend} y encontró una semilla [pequeña|extraña|marrón]
    | recibió una semilla [pequeña|extraña|marrón] de su {f.friend}
    | fue al mercado con su {f.friend} y compró una semilla [pequeña|extraña|marrón]
    - {h} plantó la semilla [detrás de la casa|junto a la valla|en una maceta] y le echó agua.
    | «¿Qué será?», dijo {h}, y plantó la semilla [detrás de la casa|junto a la valla|en una
      maceta].
    ? cada [mañana|día] miraba, pero solo había [tierra|tierra y piedras].
    | pasó una semana y no ocurrió nada.
    - «No va a crecer nunca», le dijo {h} a su {elder}.
    | «¿[Por qué no crece|Está dormida]?», le preguntó {h} a su {elder}.
    - «[Ten paciencia|Espera un poco]», dijo su {elder}. «[Cada semilla necesita tiempo|Las cosas
      buenas tardan]».
    - así que {h} la regaba todos los días y [le cantaba|quitaba las malas hierbas].
    | {h} esperó y la regó, con sol y con viento.
    - por fin, [una mañana|un día], salió de la tierra una hoja verde muy pequeña.
    | y por fin, [después de la lluvia|en primavera], salió una hoja verde.
    ? «¡Está viva!», gritó {h}, y bailó [de alegría|por todo el jardín].
    - la planta creció y creció, y en verano había {many}.
    | al final del verano había {many}.
    - {h} le regaló a {f} {fruit} más bonit{fruit.o}.
    | {h} y {f} se sentaron a mirar {them} [un buen rato|hasta que se puso el sol].
    - «Ha valido la pena esperar», dijo {h}.
    | y en otoño, {h} guardó unas semillas para el año siguiente.
""",
    ("many", "fruit", "them"),
    """
    tres girasoles muy altos / la flor / los girasoles
    diez tomates rojos / el tomate / los tomates
    un rosal lleno de rosas / la rosa / las rosas
    dos calabazas enormes / la calabaza / las calabazas
    fresas por todas partes / la fresa / las fresas
    flores azules por todas partes / la flor / las flores
    un melón y dos pepinos / el pepino / el melón
""",
)

ES_HOME = Plot(
    """
    - siguió a {bait.un} hasta el [bosque|monte|valle]
    | vio {bait.un} y corrió detrás hasta el [bosque|monte|valle]
    ? {bait} volaba [sin parar|de árbol en árbol|de flor en flor] y nunca se posaba.
    | «¡Espérame!», gritó {h}, pero {bait} no esperó.
    - de repente desapareció, y {h} [no sabía dónde estaba|no sabía volver a casa].
    | cuando {bait} desapareció, {h} miró a su alrededor y [no vio ningún camino|solo vio árboles].
    ? se hacía de noche, y {h} tenía [frío|hambre|miedo].
    - «¿[Cómo voy a volver|Dónde estoy]?», preguntó [en voz baja|en voz alta].
    | {h} se sentó en [una piedra|un tronco] y se puso a llorar.
    - {guide.un} muy viej{guide.o} {h.lo} [oyó|vio] y se acercó.
    | «¿Por qué estás [triste|aquí tan sol{h.o}]?», preguntó {guide.un} muy viej{guide.o}.
    - «Quiero volver a casa», dijo {h}. «Sigue {path}», dijo {guide}. «{reason}».
    | «Me he perdido», dijo {h}. «Entonces sigue {path}», dijo {guide}. «{reason}».
    - {h} siguió {path} y no paró hasta que vio su casa.
    | {h} dio las gracias y siguió {path}, [paso a paso|sin parar].
    - su {elder} esperaba en la puerta y le dio [un abrazo|un beso].
    | en casa, su {elder} [lloró de alegría|le dio una sopa caliente].
    - al día siguiente, {h} le llevó a {guide} [un pastel|una tarta|una cesta de fruta] para dar
      las gracias.
    | {h} nunca olvidó a {guide} ni a {bait}.
    | «La próxima vez [me quedaré cerca de casa|miraré por dónde voy]», dijo {h}.
""",
    ("bait", "guide", "path", "reason"),
    """
    la mariposa azul / el búho / el río / Pasa junto a tu casa
    la polilla blanca / el búho / la estrella más brillante / Está justo encima de tu pueblo
    el pájaro amarillo / el ciervo / el camino de piedras / Termina en tu jardín
    la mariposa roja / la pastora / el sonido de la campana / Suena en tu pueblo
    la libélula / la tortuga / el río / Pasa junto a tu casa
    la abeja dorada / el pastor / a las ovejas / También van a casa
    el pájaro verde / el leñador / la luz / Es la lámpara de tu ventana
""",
)

ES_TRUTH = Plot(
    """
    - estaba [corriendo|bailando|saltando|jugando] en casa y tiró {broken}
    | iba corriendo por la casa con su {thing.full} y tiró {broken}
    - {broken} se cayó al suelo y se rompió en [mil|muchos|tres] pedazos.
    | se oyó un gran ruido, y {broken} se rompió en [mil|muchos|tres] pedazos.
    - era de su {owner}, que {broken.lo} quería mucho.
    | su {owner} {broken.lo} había [comprado hacía mucho tiempo|guardado muchos años].
    ? {h} escondió los pedazos [debajo de la cama|en una caja|detrás de la cortina] y no dijo nada.
    | {h} tuvo miedo y [escondió los pedazos|salió corriendo|se fue a la cama].
    ? pero no podía [comer|dormir|jugar], porque se sentía muy mal.
    | «¿Qué he hecho?», pensaba [todo el día|toda la noche|una y otra vez].
    ? «Tienes que decir la verdad», le dijo su {f.friend}.
    - al final, {h} fue a ver a su {owner}. «He roto {broken}», dijo. «Lo siento mucho».
    | «Tengo que decirte algo», le dijo {h} a su {owner}. «He roto {broken}».
    ? su {owner} [se quedó en silencio|no dijo nada] un momento, y luego [sonrió|le dio la mano].
    | {h} esperaba palabras duras, pero no llegaron.
    - «[Solo era una cosa|Se puede comprar otr{broken.o}]», dijo su {owner}. «[La verdad vale
      más|Me alegro de que me lo hayas dicho]».
    - después [recogieron los pedazos|limpiaron el suelo] y [tomaron un té|comieron tarta].
    | {h} ahorró durante un mes y compró otr{broken.o}.
    - ahora {h} dormía [bien|en paz] otra vez, porque ya no tenía un secreto.
    | desde entonces, {h} siempre dijo la verdad, aunque fuera difícil.
""",
    ("broken", "owner"),
    """
    el jarrón azul / abuela
    el reloj viejo / abuelo
    la lámpara blanca / madre
    la maceta / tía
    el espejo grande / madre
    la tetera verde / abuela
    el cuenco de cristal / padre
    el plato azul / tío
""",
)

SPANISH = Tongue(
    character=SpanishCharacter,
    noun=SpanishNoun,
    female=(
        words("""Ana, Lucía, Marta, Inés, Sofía, Clara, Elena, Nora, Irene, Carmen, Luna, Julia,
            Paula, Rosa"""),
        words("niña, coneja, osa, gata, ardilla, rana, tortuga, ratita, oveja"),
    ),
    male=(
        words("""Luis, Pablo, Diego, Hugo, Mario, Nico, Tomás, Bruno, Andrés, Leo, Simón, Óscar,
            Iván, Martín"""),
        words("niño, conejo, oso, gato, ratón, zorro, erizo, pato, tejón"),
    ),
    traits=words("""pequeño, curioso, valiente, alegre, amable, tímido, listo, tranquilo,
        travieso, bueno"""),
    things=words("""la pelota, la cometa, la muñeca, el tambor, la campana, el silbato, la flauta,
        la marioneta, el barco, el coche, la espada, el osito, el caballito, la cuerda"""),
    adjectives=words("""rojo, azul, verde, amarillo, blanco, viejo, nuevo, pequeño, bonito,
        brillante"""),
    places=ES_PLACES,
    elders=words("madre, padre, abuela, abuelo, tía, tío"),
    home="""en una [casa|cabaña] [pequeña|blanca|vieja|azul|de madera]
        [junto al mar|cerca del bosque|en una colina|al lado de un río|al final del pueblo]""",
    days=words("""un día, un día, un día, un día, una mañana de sol, una mañana de primavera,
        una tarde tranquila, un día de verano, un domingo, un sábado"""),
    openings=ES_OPENINGS,
    corrections=(
        (re.compile(r"\b([AaDd]e?) el\b(?= )"), r"\1l"),
        (re.compile(r"\by (?=h?[ií](?![aeo]))", re.IGNORECASE), "e "),
    ),
    plots=(
        ES_LOST,
        ES_REPAIR,
        ES_AFRAID,
        ES_COOK,
        ES_RAIN,
        ES_PROMISE,
        ES_GIFT,
        ES_RACE,
        ES_PET,
        ES_LEARN,
        ES_RESCUE,
        ES_QUARREL,
        ES_GARDEN,
        ES_HOME,
        ES_TRUTH,
    ),
)
