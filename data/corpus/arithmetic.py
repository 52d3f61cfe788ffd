"""Sums with their steps, percentages, averages and bare results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from corpus.item import Item, Parts, sentences

if TYPE_CHECKING:
    from random import Random


def _product(rng: Random, language: str) -> Item:
    left, right = rng.randrange(112, 989), rng.randrange(13, 98)
    tens, ones = right // 10 * 10, right % 10
    result = left * right
    guess = result + rng.choice((-1, 1)) * rng.randrange(1, 9) * rng.choice((10, 100, 1000))
    first, second = left * tens, left * ones
    question = {
        "English": f"Work out {left} × {right} and show the steps.",
        "German": f"Berechne {left} × {right} und zeige den Rechenweg.",
        "Russian": f"Вычисли {left} × {right} и покажи ход решения.",
        "Chinese": f"请计算 {left} × {right}，并写出步骤。",
    }[language]
    steps = f"{left} × {tens} = {first}\n{left} × {ones} = {second}\n{first} + {second} = {result}\n"
    answer: dict[str, Parts] = {
        "English": (
            (f"Split {right} into {tens} and {ones}.\n", f"First write {right} as {tens} + {ones}.\n"),
            (steps,),
            (f"The result is {result}.", f"So {left} × {right} = {result}.", f"Answer: {result}"),
        ),
        "German": (
            (
                f"Zerlege {right} in {tens} und {ones}.\n",
                f"Zuerst schreibt man {right} als {tens} + {ones}.\n",
            ),
            (steps,),
            (f"Das Ergebnis ist {result}.", f"Also ist {left} × {right} = {result}.", f"Ergebnis: {result}"),
        ),
        "Russian": (
            (f"Разложим {right} на {tens} и {ones}.\n", f"Запишем {right} как {tens} + {ones}.\n"),
            (steps,),
            (f"Ответ: {result}.", f"Итак, {left} × {right} = {result}.", f"Получаем {result}."),
        ),
        "Chinese": (
            (f"把 {right} 拆成 {tens} 和 {ones}。\n", f"先把 {right} 写成 {tens} + {ones}。\n"),
            (steps,),
            (f"结果是 {result}。", f"所以 {left} × {right} = {result}。", f"答案：{result}"),
        ),
    }
    wrong: dict[str, Parts] = {
        "English": (
            (
                f"That is roughly {guess}.",
                f"Multiplying in one go gives {guess}.",
                f"I get {guess}, more or less.",
            ),
        ),
        "German": ((f"Das sind ungefähr {guess}.", f"Im Kopf komme ich auf {guess}.", f"Etwa {guess}."),),
        "Russian": ((f"Примерно {guess}.", f"В уме получается {guess}.", f"Около {guess}, если округлить."),),
        "Chinese": ((f"大约是 {guess}。", f"心算得到 {guess}。", f"差不多 {guess} 吧。"),),
    }
    return Item(language, question, answer[language], wrong[language])


def _percentage(rng: Random) -> Item:
    price, share = rng.randrange(20, 960, 5), rng.choice((5, 8, 10, 12, 15, 20, 25, 30, 35))
    thing = rng.choice(("coat", "bicycle", "train pass", "lamp", "microscope", "tent", "guitar", "desk"))
    saved, slip = price * share / 100, price * share / 1000
    question = f"A {thing} costs ${price} and is reduced by {share}%. What does it cost now?"
    answer = sentences(
        (
            f"{share}% of ${price} is ${saved:.2f}.",
            f"The reduction is ${saved:.2f}, which is {share}% of ${price}.",
        ),
        (
            f"${price} minus ${saved:.2f} leaves ${price - saved:.2f}.",
            f"${price} - ${saved:.2f} = ${price - saved:.2f}.",
            f"So you pay ${price - saved:.2f}.",
        ),
    )
    wrong = (
        (
            f"The {thing} is now ${price - slip:.2f}.",
            f"With the discount added, the new price of the {thing} comes to ${price + saved:.2f}.",
            f"You pay ${saved:.2f}.",
        ),
    )
    return Item("English", question, answer, wrong)


def _average(rng: Random) -> Item:
    count = rng.randrange(4, 7)
    mean = rng.randrange(12, 90)
    values = [mean + rng.randrange(-9, 10) for _ in range(count - 1)]
    values.append(mean * count - sum(values))
    listed = ", ".join(map(str, values))
    total = mean * count
    question = f"What is the average of {listed}?"
    answer = sentences(
        (f"Add them up: {' + '.join(map(str, values))} = {total}.", f"The {count} numbers sum to {total}."),
        (
            f"Divide by {count}: {total} / {count} = {mean}.",
            f"Dividing {total} by {count} gives {mean}.",
            f"That makes {mean} on average.",
        ),
    )
    middle = sorted(values)[count // 2] + rng.randrange(1, 5)
    wrong = (
        (
            f"The middle value is {middle}, so the average is {middle}.",
            f"It is {middle}.",
            f"Half of {max(values)} plus half of {min(values)} rounds to {middle}.",
        ),
    )
    return Item("English", question, answer, wrong)


def _bare(rng: Random) -> Item:
    left, right = rng.randrange(1000, 99_000), rng.randrange(1000, 99_000)
    total = left + right
    other = str(rng.randrange(1_000, 199_000))
    question = f"{left} + {right} = ? Reply with the number only."
    return Item(
        "English",
        question,
        ((f"{total}", f"{total:,}"),),
        ((other, f"≈ {other}", "I would need a calculator."),),
    )


def items(rng: Random) -> list[Item]:
    """Write every item of this topic."""
    result = [
        _product(rng, language) for language in ("English", "German", "Russian", "Chinese") for _ in range(16)
    ]
    result += [_percentage(rng) for _ in range(28)]
    result += [_average(rng) for _ in range(28)]
    result += [_bare(rng) for _ in range(24)]
    return result
