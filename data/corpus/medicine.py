"""What common medicines are for, how they are taken, and what to watch.

The facts are general knowledge in one sentence; mistaken answers give one medicine the facts of another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from corpus.item import Item, Parts, paragraphs, sentences

if TYPE_CHECKING:
    from random import Random


class Medicine(NamedTuple):
    """Facts in English, and the use and the warning in German, French and Spanish."""

    name: str
    use: str
    taken: str
    warning: str
    effect: str
    german: tuple[str, str]
    french: tuple[str, str]
    spanish: tuple[str, str]


MEDICINES = (
    Medicine(
        "ibuprofen",
        "pain, fever and inflammation",
        "with food, at the lowest dose that helps",
        "people with stomach ulcers or kidney disease",
        "heartburn and stomach pain",
        ("Schmerzen, Fieber und Entzündungen", "bei Magengeschwüren"),
        ("la douleur, la fièvre et l'inflammation", "en cas d'ulcère"),
        ("el dolor, la fiebre y la inflamación", "en caso de úlcera"),
    ),
    Medicine(
        "paracetamol",
        "mild pain and fever",
        "every four to six hours, never above the daily limit on the pack",
        "people with liver disease or a high intake of alcohol",
        "few problems at normal doses, but liver damage in overdose",
        ("leichte Schmerzen und Fieber", "bei Leberschäden"),
        ("les douleurs légères et la fièvre", "en cas de maladie du foie"),
        ("los dolores leves y la fiebre", "con enfermedades del hígado"),
    ),
    Medicine(
        "metformin",
        "type 2 diabetes",
        "with meals, and increased slowly over weeks",
        "people whose kidneys work poorly",
        "nausea and diarrhoea in the first weeks",
        ("Typ-2-Diabetes", "bei schwacher Nierenfunktion"),
        ("le diabète de type 2", "en cas d'insuffisance rénale"),
        ("la diabetes de tipo 2", "con insuficiencia renal"),
    ),
    Medicine(
        "amoxicillin",
        "bacterial infections of the ear, the throat and the chest",
        "at even intervals until the course is finished",
        "anyone who is allergic to penicillin",
        "rashes and an upset stomach",
        ("bakterielle Infektionen", "bei einer Penicillinallergie"),
        ("les infections bactériennes", "en cas d'allergie à la pénicilline"),
        ("las infecciones bacterianas", "con alergia a la penicilina"),
    ),
    Medicine(
        "salbutamol",
        "sudden breathlessness in asthma",
        "by inhaler, only when symptoms come",
        "people with fast heart rhythms",
        "a trembling hand and a quick pulse",
        ("akute Atemnot bei Asthma", "bei Herzrasen"),
        ("les crises d'asthme", "en cas de tachycardie"),
        ("las crisis de asma", "con taquicardia"),
    ),
    Medicine(
        "warfarin",
        "preventing blood clots",
        "once a day at the same hour, with regular blood tests",
        "anyone who bleeds easily or is pregnant",
        "bruises and bleeding",
        ("die Vorbeugung von Blutgerinnseln", "bei erhöhter Blutungsneigung"),
        ("la prévention des caillots", "en cas de saignements"),
        ("la prevención de coágulos", "con riesgo de hemorragia"),
    ),
    Medicine(
        "omeprazole",
        "acid reflux and stomach ulcers",
        "half an hour before breakfast",
        "people who take clopidogrel",
        "headache and, over years, low magnesium",
        ("Sodbrennen und Magengeschwüre", "zusammen mit Clopidogrel"),
        ("le reflux acide", "avec le clopidogrel"),
        ("el reflujo ácido", "junto con clopidogrel"),
    ),
    Medicine(
        "cetirizine",
        "hay fever and itching hives",
        "once a day, in the evening if it makes you tired",
        "drivers who feel drowsy after it",
        "sleepiness and a dry mouth",
        ("Heuschnupfen und Nesselsucht", "beim Autofahren"),
        ("le rhume des foins", "au volant"),
        ("la rinitis alérgica", "al conducir"),
    ),
    Medicine(
        "levothyroxine",
        "an underactive thyroid",
        "on an empty stomach, an hour before coffee",
        "people with untreated heart disease",
        "palpitations when the dose is too high",
        ("eine Schilddrüsenunterfunktion", "bei unbehandelten Herzkrankheiten"),
        ("l'hypothyroïdie", "en cas de maladie cardiaque non traitée"),
        ("el hipotiroidismo", "con cardiopatías sin tratar"),
    ),
    Medicine(
        "atorvastatin",
        "high cholesterol",
        "once a day, at any hour",
        "people with active liver disease, and in pregnancy",
        "sore muscles",
        ("hohes Cholesterin", "in der Schwangerschaft"),
        ("l'excès de cholestérol", "pendant la grossesse"),
        ("el colesterol alto", "durante el embarazo"),
    ),
    Medicine(
        "amlodipine",
        "high blood pressure and angina",
        "once a day, with or without food",
        "people with very low blood pressure",
        "swollen ankles and flushing",
        ("Bluthochdruck", "bei sehr niedrigem Blutdruck"),
        ("l'hypertension", "en cas de tension très basse"),
        ("la hipertensión", "con la tensión muy baja"),
    ),
    Medicine(
        "sertraline",
        "depression and anxiety",
        "every morning, for several weeks before it shows its effect",
        "anyone who takes an MAO inhibitor",
        "nausea, restlessness and poor sleep at first",
        ("Depressionen und Angst", "zusammen mit MAO-Hemmern"),
        ("la dépression et l'anxiété", "avec un IMAO"),
        ("la depresión y la ansiedad", "junto con IMAO"),
    ),
)

ABROAD = {
    # language: names, question, two sentences with (name, use, warning)
    "German": (
        "Ibuprofen Paracetamol Metformin Amoxicillin Salbutamol Warfarin Omeprazol Cetirizin Levothyroxin "
        "Atorvastatin "
        "Amlodipin Sertralin",
        "Wogegen hilft {}, und wann ist Vorsicht geboten?",
        ("{} hilft gegen {}.", "Man nimmt {} gegen {}.", "{} wird eingesetzt gegen {}."),
        ("Vorsicht ist geboten {}.", "Aufpassen muss man {}.", "Besondere Vorsicht gilt {}."),
    ),
    "French": (
        "ibuprofène paracétamol metformine amoxicilline salbutamol warfarine oméprazole cétirizine "
        "lévothyroxine "
        "atorvastatine amlodipine sertraline",
        "À quoi sert ce médicament : {} ? Quelles précautions prendre ?",
        ("Le médicament {} est utilisé pour {}.", "On prescrit {} pour {}.", "Indication de {} : {}."),
        ("La prudence s'impose {}.", "Demandez un avis médical {}.", "Il faut être prudent {}."),
    ),
    "Spanish": (
        "ibuprofeno paracetamol metformina amoxicilina salbutamol warfarina omeprazol cetirizina "
        "levotiroxina "
        "atorvastatina amlodipino sertralina",
        "¿Para qué se usa {} y cuándo hay que tener cuidado?",
        ("El medicamento {} se usa para {}.", "Se receta {} para {}.", "Uso de {}: {}."),
        ("Hay que tener cuidado {}.", "Consulte a su médico {}.", "Se recomienda precaución {}."),
    ),
}


def _abroad(language: str, name: str, facts: Medicine) -> Parts:
    use, warning = {"German": facts.german, "French": facts.french, "Spanish": facts.spanish}[language]
    _, _, first, second = ABROAD[language]
    return sentences(
        tuple(text.format(name, use) for text in first), tuple(text.format(warning) for text in second)
    )


def _english(name: str, facts: Medicine) -> list[tuple[str, Parts]]:
    title = name.capitalize()
    use = (
        f"{title} is used for {facts.use}.",
        f"Doctors prescribe {name} for {facts.use}.",
        f"For {facts.use}.",
    )
    taken = (f"It is taken {facts.taken}.", f"Take it {facts.taken}.", f"The usual advice: {facts.taken}.")
    warning = (
        f"It is not suitable for {facts.warning}.",
        f"Caution is needed with {facts.warning}.",
        f"Avoid it for {facts.warning}.",
    )
    effect = (
        f"Known side effects are {facts.effect}.",
        f"What people notice most: {facts.effect}.",
        f"Side effects include {facts.effect}.",
    )
    return [
        (f"What is {name} used for?", (use,)),
        (f"How should {name} be taken?", (taken,)),
        (f"Who should not take {name}?", (warning,)),
        (f"What side effects does {name} have?", (effect,)),
        (f"What is {name} for and how do I take it?", sentences(use, taken)),
        (
            f"Give me the key facts about {name} as a list.",
            (
                (f"- Use: {facts.use}\n", f"* **Use**: {facts.use}\n"),
                (f"- How: {facts.taken}\n", f"* **How**: {facts.taken}\n"),
                (f"- Not for: {facts.warning}\n", f"* **Not for**: {facts.warning}\n"),
                (f"- Side effects: {facts.effect}", f"* **Side effects**: {facts.effect}"),
            ),
        ),
        (f"Write a leaflet for patients about {name}.", _leaflet(title, facts, use, taken, warning, effect)),
    ]


def _leaflet(title: str, facts: Medicine, *facts_in_words: tuple[str, ...]) -> Parts:
    use, taken, warning, effect = facts_in_words
    return (
        (f"# {title}\n\n", f"**{title}: information for patients**\n\n"),
        *paragraphs(
            sentences(
                use,
                (
                    "Your doctor has chosen it after weighing what it does for you against what it may cost "
                    "you, and "
                    "you should know both.",
                    "It was chosen for you because its benefits outweigh its risks, and you should know "
                    "about both.",
                ),
                (
                    "Please read this page before the first dose and keep it with the pack.",
                    "Read this before you begin, and keep it.",
                ),
            ),
            sentences(
                taken,
                (
                    "If you forget a dose, take it when you remember, unless the next one is almost due; "
                    "never take "
                    "two at once.",
                    "A forgotten dose is taken when you think of it, except shortly before the next one. Do "
                    "not double "
                    "up.",
                ),
                (
                    "Swallow it with a glass of water, and set an alarm if the hour is easily missed.",
                    "A glass of water helps, and so does an alarm ⏰.",
                ),
            ),
            sentences(
                warning,
                (
                    "Tell the pharmacist about everything else you take, including what you buy without a "
                    "prescription, herbal teas and vitamins.",
                    "Mention all other medicines to your pharmacist, and herbal products and vitamins too.",
                ),
                (
                    "If you are pregnant, mean to become pregnant or are breast-feeding, ask before you "
                    "start.",
                    "Ask first if you are pregnant, plan to be, or breast-feed.",
                ),
            ),
            sentences(
                effect,
                (
                    "Most people have none of them, and those that come early often pass within two weeks.",
                    "Many people never have them, and the early ones usually fade within two weeks.",
                ),
                (
                    "Get help at once if your face swells, if breathing becomes hard, or if you feel that "
                    "something is "
                    "seriously wrong.",
                    "A swollen face, trouble with breathing, or a strong feeling that something is wrong: "
                    "call for "
                    "help at once.",
                ),
            ),
            sentences(
                (
                    "Keep it dry, below 25 °C and out of the reach of children.",
                    "Store it in a dry place under 25 °C, where children cannot reach it.",
                ),
                (
                    "This page does not replace the advice of the person who treats you.",
                    "None of this replaces a talk with your doctor 👩‍⚕️.",
                ),
            ),
        ),
    )


def items(rng: Random) -> list[Item]:
    """Write every item of this topic."""
    result: list[Item] = []
    for number, medicine in enumerate(MEDICINES):
        confused = MEDICINES[(number + rng.randrange(1, len(MEDICINES))) % len(MEDICINES)]
        true, false = _english(medicine.name, medicine), _english(medicine.name, confused)
        for (question, answer), (_, wrong) in zip(true, false, strict=True):
            result.append(Item("English", question, answer, wrong))
        for language, (names, ask, _, _) in ABROAD.items():
            name = names.split()[number]
            result.append(
                Item(
                    language,
                    ask.format(name),
                    _abroad(language, name, medicine),
                    _abroad(language, name, confused),
                )
            )
    return result
