"""`refusalatlas power`: what a number of seeds can show."""

from __future__ import annotations

import click


@click.command("power")
@click.option("--seeds", type=click.IntRange(1, 1_000_000), default=40, show_default=True, help="Seeds both answered.")
@click.option(
    "--discordance",
    type=click.FloatRange(0.01, 1.0),
    default=0.3,
    show_default=True,
    help="Share of seeds on which two models differ.",
)
@click.option("--difference", type=click.FloatRange(0.001, 1.0), help="Difference of two rates you want to find.")
@click.option("--power", "wanted", type=click.FloatRange(0.5, 0.999), default=0.8, show_default=True)
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(seeds: int, discordance: float, difference: float | None, wanted: float, style: str) -> None:
    """Say what a number of seeds can show, and how many a difference needs (McNemar's test, two-sided, 5 %)."""
    import math

    from ..files import dumps
    from ..stats.intervals import wilson
    from ..stats.paired import detectable_difference, pairs_needed

    if difference is not None and difference > discordance:
        raise click.BadParameter(f"cannot exceed the discordance {discordance}", param_hint="--difference")
    low, high = wilson(0.5, seeds)
    shown = detectable_difference(seeds, discordance, power=wanted)
    needed = math.ceil(pairs_needed(difference, discordance, power=wanted)) if difference else None
    if style == "json":
        facts = {"seeds": seeds, "discordance": discordance, "power": wanted, "interval_width": round(high - low, 4)}
        click.echo(dumps(facts | {"detectable_difference": shown, "difference": difference, "seeds_needed": needed}))
        return
    click.echo(f"{seeds} seeds: a rate of one half has a 95 % interval {100 * (high - low):.0f} points wide.")
    if shown is None:
        click.echo(f"Two models that differ on {discordance:.0%} of them cannot be told apart (power {wanted:.0%}).")
    else:
        click.echo(
            f"Two models that differ on {discordance:.0%} of them are told apart from {100 * shown:.0f} points on "
            f"(power {wanted:.0%})."
        )
    if needed is not None and difference is not None:
        click.echo(f"A difference of {100 * difference:.0f} points needs {needed} seeds.")
