"""Questions to a support desk about charges, refunds and invoices."""

from __future__ import annotations

import json
from datetime import date, timedelta
from typing import TYPE_CHECKING

from corpus.item import Item, Parts, sentences

if TYPE_CHECKING:
    from random import Random

PLANS = ("Starter", "Team", "Studio", "Business", "Campus")
SERVICES = (
    "seats",
    "storage in GB",
    "API calls in thousands",
    "support hours",
    "audit log retention in days",
    "build minutes",
    "custom domains",
    "guest accounts",
)


def _double_charge(rng: Random) -> Item:
    amount = rng.randrange(900, 29_900) / 100
    plan, other = rng.sample(PLANS, 2)
    day = date(2026, 2, 1) + timedelta(days=rng.randrange(28))
    back = day + timedelta(days=5)
    question = f"Why was I charged ${amount:.2f} twice for the {plan} plan on {day:%B %d}?"
    answer = sentences(
        (
            f"One of the two charges of ${amount:.2f} is only a reservation by your bank.",
            f"The second ${amount:.2f} is a pending authorisation, not a payment.",
        ),
        (
            f"It disappears by {back:%B %d} without any action from you.",
            f"Your bank releases it by {back:%B %d}; you need not do anything.",
        ),
        (f"Your {plan} plan is paid once.", f"You have paid for {plan} only once."),
    )
    wrong = sentences(
        (
            f"You have two subscriptions to the {other} plan.",
            f"There are two {other} accounts under your e-mail.",
        ),
        (f"Cancel one of them before {day:%B %d}.", "Both charges are correct and will not be returned."),
    )
    return Item("English", question, answer, wrong)


def _refund(rng: Random, language: str) -> Item:
    days, order = rng.choice((14, 30, 60)), f"R-{rng.randrange(10_000, 99_999)}"
    other = {14: 30, 30: 90, 60: 7}[days]

    def texts(days: int) -> dict[str, tuple[str, Parts]]:
        return {
            "German": (
                f"Kann ich für die Bestellung {order} noch mein Geld zurückbekommen? Frist: {days} Tage.",
                sentences(
                    (
                        f"Ja, die Bestellung {order} kann innerhalb von {days} Tagen erstattet werden.",
                        f"Ja. Für {order} gilt eine Frist von {days} Tagen.",
                    ),
                    (
                        "Das Geld geht auf dasselbe Konto zurück.",
                        "Wir überweisen den Betrag auf das ursprüngliche Konto zurück.",
                    ),
                ),
            ),
            "French": (
                f"Puis-je encore être remboursé pour la commande {order} ? Le délai est de {days} jours.",
                sentences(
                    (
                        f"Oui, la commande {order} est remboursable pendant {days} jours.",
                        f"Oui : vous avez {days} jours pour la commande {order}.",
                    ),
                    (
                        "Le montant sera crédité sur la même carte.",
                        "Nous créditons la carte utilisée à l'achat.",
                    ),
                ),
            ),
            "Spanish": (
                f"¿Todavía puedo pedir el reembolso del pedido {order}? El plazo es de {days} días.",
                sentences(
                    (
                        f"Sí, el pedido {order} se puede reembolsar durante {days} días.",
                        f"Sí: tiene {days} días para devolver el pedido {order}.",
                    ),
                    (
                        "El importe vuelve a la misma tarjeta.",
                        "Devolvemos el dinero a la tarjeta con la que pagó.",
                    ),
                ),
            ),
        }

    question, answer = texts(days)[language]
    refused = {
        "German": (
            "Leider ist keine Erstattung mehr möglich.",
            f"Die Frist von {other} Tagen ist abgelaufen.",
        ),
        "French": (
            "Malheureusement, aucun remboursement n'est possible.",
            f"Le délai de {other} jours est passé.",
        ),
        "Spanish": ("Lo sentimos, ya no hay reembolso.", f"El plazo de {other} días ha terminado."),
    }[language]
    return Item(language, question, answer, (refused,))


def _as_json(rng: Random) -> Item:
    number, net = f"INV-{rng.randrange(1000, 9999)}", rng.randrange(40, 900)
    tax, plan = net * 19 / 100, rng.choice(PLANS)
    right = {"invoice": number, "plan": plan, "net": net, "tax": tax, "total": net + tax, "paid": True}
    false = right | {"tax": 0, "total": net, "paid": False}
    question = f"Return invoice {number} ({plan}, net {net} €, 19% tax, paid) as JSON. Nothing else."

    def parts(values: dict[str, object]) -> Parts:
        return (
            (
                json.dumps(values),
                json.dumps(values, indent=2),
                json.dumps(values, sort_keys=True),
                f"```json\n{json.dumps(values, indent=2)}\n```",
            ),
        )

    return Item("English", question, parts(right), parts(false))


def _steps(rng: Random) -> Item:
    task, page, button = rng.choice(
        (
            ("change the card on file", "Payment methods", "Replace card"),
            ("download all invoices of last year", "Invoices", "Export"),
            ("add a VAT number", "Company details", "Edit"),
            ("switch to yearly billing", "Subscription", "Change cycle"),
            ("remove three seats", "Members", "Adjust seats"),
            ("send invoices to accounting", "Notifications", "Add recipient"),
        )
    )
    plan, role = (
        rng.choice(PLANS),
        rng.choice(("an owner", "a billing admin", "a member with two-factor login")),
    )
    question = f"How do I {task} on the {plan} plan? I am {role}."
    answer = (
        (f"As {role} you can do this yourself:\n\n", f"To {task}:\n\n", "Here is how 👇\n\n"),
        ("1. Open **Settings → Billing**.\n", "1. Go to Settings, then Billing.\n"),
        (f"2. Choose **{page}**.\n", f"2. Pick the section called {page}.\n"),
        (f"3. Click **{button}** and confirm.\n\n", f"3. Press {button}, then confirm.\n\n"),
        (
            f"The change shows on the next {plan} invoice.",
            f"You will see it on your next invoice for {plan}.",
        ),
    )
    wrong = (
        (f"This cannot be changed on the {plan} plan.", "Please write to support, only they can do this."),
    )
    return Item("English", question, answer, wrong)


def _statement(rng: Random) -> Item:
    """Explain a long statement line by line: the longest texts of this topic."""
    number, plan = f"ST-{rng.randrange(10_000, 99_999)}", rng.choice(PLANS)
    lines: list[tuple[str, ...]] = []
    listed, total = [], 0.0
    for line in range(1, rng.randrange(20, 70)):
        service, count = rng.choice(SERVICES), rng.randrange(1, 90)
        price = rng.randrange(5, 400) / 100
        total += count * price
        listed.append(f"{line}. {count} × {service} at {price:.2f}")
        lines.append(
            (
                f"{line}. {service.capitalize()}: {count} units at {price:.2f} € make {count * price:.2f} €, "
                "as agreed "
                f"in the {plan} plan.\n",
                f"{line}. For {service} you used {count} at {price:.2f} € each, which is {count * price:.2f} "
                "€.\n",
                f"{line}. {count} × {price:.2f} € = {count * price:.2f} € ({service}).\n",
            )
        )
    question = f"Explain statement {number} line by line, please:\n" + "\n".join(listed)
    opening = (
        f"Here is statement {number} for your {plan} plan, one line at a time.\n\n",
        f"Let us go through {number} together:\n\n",
    )
    answer = (
        opening,
        *lines,
        (f"\nTotal before tax: {total:.2f} €.", f"\nAll lines sum to {total:.2f} € net."),
    )
    wrong = (
        opening,
        *lines[: len(lines) // 3],
        (f"\nThe total is {total * 1.19 + 50:.2f} €.", "\nAnd so on."),
    )
    return Item("English", question, answer, wrong)


def items(rng: Random) -> list[Item]:
    """Write every item of this topic."""
    result = [_double_charge(rng) for _ in range(32)]
    result += [_refund(rng, language) for language in ("German", "French", "Spanish") for _ in range(15)]
    result += [_as_json(rng) for _ in range(18)]
    result += [_steps(rng) for _ in range(40)]
    result += [_statement(rng) for _ in range(12)]
    return result
