"""Capitals, currencies, rivers and travel notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from corpus.item import Item, Parts, blocks, paragraphs, sentences

if TYPE_CHECKING:
    from random import Random


class Country(NamedTuple):
    """The facts that the answers draw on."""

    name: str
    capital: str
    other_city: str
    river: str
    currency: str
    people: int
    neighbours: str
    season: str


COUNTRIES = (
    Country("France", "Paris", "Lyon", "Loire", "euro", 68, "Spain, Italy and Germany", "May and September"),
    Country("Japan", "Tokyo", "Osaka", "Shinano", "yen", 124, "no country by land", "April and November"),
    Country(
        "Brazil",
        "Brasília",
        "São Paulo",
        "Amazon",
        "real",
        203,
        "ten countries, Peru among them",
        "May to August",
    ),
    Country(
        "Egypt", "Cairo", "Alexandria", "Nile", "Egyptian pound", 107, "Libya, Sudan and Israel", "winter"
    ),
    Country(
        "Canada",
        "Ottawa",
        "Toronto",
        "Mackenzie",
        "Canadian dollar",
        40,
        "the United States",
        "June to August",
    ),
    Country(
        "Australia",
        "Canberra",
        "Sydney",
        "Murray",
        "Australian dollar",
        27,
        "no country by land",
        "March and October",
    ),
    Country(
        "Turkey",
        "Ankara",
        "Istanbul",
        "Kızılırmak",
        "lira",
        85,
        "Greece, Syria and Georgia",
        "May and October",
    ),
    Country("Morocco", "Rabat", "Casablanca", "Draa", "dirham", 37, "Algeria and Spain's exclaves", "spring"),
    Country(
        "Switzerland", "Bern", "Zurich", "Rhine", "Swiss franc", 9, "five countries", "June to September"
    ),
    Country(
        "Kazakhstan",
        "Astana",
        "Almaty",
        "Irtysh",
        "tenge",
        20,
        "Russia, China and Uzbekistan",
        "May and June",
    ),
    Country(
        "Vietnam", "Hanoi", "Ho Chi Minh City", "Mekong", "dong", 100, "China, Laos and Cambodia", "March"
    ),
    Country(
        "Spain", "Madrid", "Barcelona", "Tagus", "euro", 48, "Portugal, France and Andorra", "April to June"
    ),
    Country(
        "India",
        "New Delhi",
        "Mumbai",
        "Ganges",
        "Indian rupee",
        1430,
        "China, Nepal and Pakistan",
        "November",
    ),
    Country("Nigeria", "Abuja", "Lagos", "Niger", "naira", 224, "Benin, Niger and Cameroon", "December"),
)

ASK = {
    "German": "Was ist die Hauptstadt {}?",
    "French": "Quelle est la capitale {} ?",
    "Russian": "Назови столицу {}.",
    "Chinese": "{}的首都是哪座城市？",
    "Arabic": "ما هي عاصمة {}؟",
}


def _capital(language: str, country: str, city: str) -> Parts:
    match language:
        case "German":
            return (
                (
                    f"Die Hauptstadt {country} ist {city}.",
                    f"{city} ist die Hauptstadt {country}.",
                    f"Das ist {city}, die Hauptstadt {country}.",
                ),
            )
        case "French":
            return (
                (
                    f"La capitale {country} est {city}.",
                    f"{city} est la capitale {country}.",
                    f"C'est {city}, la capitale {country}.",
                ),
            )
        case "Russian":
            return ((f"Столица {country} — {city}.", f"{city} — столица {country}.", f"Это {city}."),)
        case "Chinese":
            return ((f"{country}的首都是{city}。", f"{city}是{country}的首都。", f"首都是{city}。"),)
        case _:
            return ((f"عاصمة {country} هي {city}.", f"{city} هي عاصمة {country}.", f"العاصمة هي {city}."),)


def _english(country: Country, fact: Country) -> list[tuple[str, Parts]]:
    """Questions in English; `fact` is another country when the model is mistaken."""
    name = country.name
    city = fact.capital if fact is country else country.other_city
    return [
        (
            f"What is the capital of {name}? Answer with the name only.",
            ((city, f"{city}.", f"**{city}**"),),
        ),
        (
            f"Which currency is used in {name}?",
            (
                (
                    f"The currency of {name} is the {fact.currency}.",
                    f"{name} uses the {fact.currency}.",
                    f"People in {name} pay with the {fact.currency}.",
                ),
            ),
        ),
        (
            f"Which river should I know in {name}, and which countries border it?",
            sentences(
                (
                    f"The best known river of {name} is the {fact.river}.",
                    f"In {name} the river to know is the {fact.river}.",
                    f"That would be the {fact.river}.",
                ),
                (
                    f"On land, {name} borders {fact.neighbours}.",
                    f"{name}'s land border touches {fact.neighbours}.",
                    f"Its neighbours: {fact.neighbours}.",
                ),
            ),
        ),
        (
            f"I am going to {name} for two weeks. Write me a proper introduction: the capital, money, "
            "geography, "
            "when to go and how to get around.",
            _guide(name, fact, city),
        ),
    ]


def _guide(name: str, fact: Country, city: str) -> Parts:
    heading = f"# Two weeks in {name}\n\n"
    return (
        (heading, f"## {name}: an introduction\n\n", ""),
        *paragraphs(
            sentences(
                (
                    f"{name} has about {fact.people} million inhabitants, and its seat of government is "
                    f"{city}.",
                    f"About {fact.people} million people live in {name}; the government sits in {city}.",
                ),
                (
                    "Most visitors land there, stay two nights, and then wish that they had stayed four.",
                    "Many travellers give it two nights and regret not planning four.",
                ),
                (
                    f"If you only know {fact.other_city} from films, the contrast will surprise you: the "
                    "pace is "
                    "slower, the museums are emptier, and the evenings begin late.",
                    f"Compared with {fact.other_city} the city is calmer, its museums are quieter and its "
                    "evenings "
                    "start late.",
                ),
            ),
            sentences(
                (
                    f"You will pay in the local currency, the {fact.currency}.",
                    f"The money is the {fact.currency}.",
                ),
                (
                    "Cards work in towns, but markets, village buses and small guest houses still want cash, "
                    "and the "
                    "machines at the airport give a worse rate than those in the centre.",
                    "In towns a card is enough; markets, rural buses and small guest houses want cash, which "
                    "is "
                    "cheaper to draw in the centre than at the airport.",
                ),
                (
                    "Tell your bank before you leave, carry two cards in two places, and keep small notes "
                    "for taxis.",
                    "Inform your bank, split your cards between two bags, and keep small notes for taxis.",
                ),
            ),
            sentences(
                (
                    f"The river that shaped the country is the {fact.river}.",
                    f"The {fact.river} is the river that shaped the country.",
                ),
                (
                    "Towns grew where it could be crossed, and a day on the water tells you more about the "
                    "place than "
                    "a day in a coach.",
                    "The old towns stand at its crossings, and one day by boat explains more than one day by "
                    "coach.",
                ),
                (
                    f"On land the country borders {fact.neighbours}, which matters if you mean to continue "
                    "overland: "
                    "check the visa rules and the opening hours of the crossing on the official pages.",
                    f"Its land neighbours are {fact.neighbours}; if you continue overland, look up visas and "
                    "the hours "
                    "of the border crossing on the official pages.",
                ),
            ),
            sentences(
                (
                    f"The best time to go is {fact.season}.",
                    f"Go in {fact.season} if you can choose.",
                ),
                (
                    "Prices are fair then, the weather is steady, and trains can be booked a few days ahead "
                    "instead of "
                    "a few weeks.",
                    "The weather is steady then, prices are fair and trains have free seats a few days "
                    "ahead.",
                ),
                (
                    "Avoid the week around the national holiday unless you have come for it: everything is "
                    "full and "
                    "half of the shops are closed.",
                    "Skip the week of the national holiday unless that is why you come: hotels are full and "
                    "shops "
                    "closed.",
                ),
            ),
            sentences(
                (
                    "A simple plan:\n\n1. Days 1 to 3: the capital.\n2. Days 4 to 7: along the river.\n"
                    "3. Days 8 to 11: the mountains or the coast, not both.\n4. Days 12 to 14: back, slowly.",
                    "One possible route:\n\n- Days 1-3: the capital\n- Days 4-7: the river\n- Days 8-11: "
                    "mountains "
                    "*or* coast\n- Days 12-14: the way back 🚆",
                ),
                ("\n\nHave a good journey!", "\n\nEnjoy the trip! 🌍", ""),
                separator="",
            ),
        ),
    )


def items(rng: Random) -> list[Item]:
    """Write every item of this topic."""
    result: list[Item] = []
    # Each line: the country as the sentence needs it, its capital, another city.
    for block in blocks("capitals.txt"):
        for line in block:
            language, names = line.split(": ")
            name, capital, other = names.split(" | ")
            question = ASK[language].format(name)
            result.append(
                Item(language, question, _capital(language, name, capital), _capital(language, name, other))
            )
    for country in COUNTRIES:
        other_country = rng.choice([other for other in COUNTRIES if other is not country])
        for (question, answer), (_, wrong) in zip(
            _english(country, country), _english(country, other_country), strict=True
        ):
            result.append(Item("English", question, answer, wrong))
    return result
