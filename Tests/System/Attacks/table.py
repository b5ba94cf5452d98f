"""Results as rows: on the terminal, and in Markdown with an earlier build beside them."""

import math

from measurement import Result

HEADS = ("attack", "loops", "others' ms: calm", "attacked", "failed", "kept out", "memory, MB", "kernel, MB", "CPU", "refused after", "held", "")
WIDTHS = (26, 5, 16, 20, 6, 9, 17, 10, 4, 13, 6, 0)


def milliseconds(seconds: float) -> str:
    return "-" if math.isnan(seconds) else f"{seconds * 1000:.1f}" if seconds < 0.1 else f"{seconds * 1000:.0f}"


def after(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds:.1f} s"


def newcomers(result: Result) -> str:
    return f"{sum(result.kept_out.values())}/{result.newcomers}"


def cells(result: Result) -> tuple[str, ...]:
    calm, during = result.calm, result.during
    return (
        result.attack,
        str(result.loops),
        f"{milliseconds(calm.p50)} {milliseconds(calm.p99)}",
        f"{milliseconds(during.p50)} {milliseconds(during.p99)} {milliseconds(during.worst)}",
        str(sum(result.failures.values())),
        newcomers(result),
        f"{result.memory_before:.0f} {result.memory_peak:.0f} {result.memory_after:.0f}",
        f"{result.kernel_peak:.0f} {result.kernel_closed:.0f}",
        f"{result.cpu:.1f}",
        after(result.first_refusal),
        str(result.held),
        "held" if not result.broken else "BROKEN: " + ", ".join(result.broken),
    )


def line(row: tuple[str, ...]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(row, WIDTHS)).rstrip()


def most(counts: dict[str, int], number: int = 4) -> str:
    chosen = sorted(counts.items(), key=lambda pair: -pair[1])[:number]
    return ", ".join(f"{count} × {what}" for what, count in chosen)


def details(result: Result) -> str:
    """Returns the details that do not fit into a row."""
    parts = [
        f"opened {result.opened}, sent {result.sent / 1e6:.1f} MB", f"answered: {most(result.answers) or 'nothing'}",
        f"after it {milliseconds(result.after.p50)} {milliseconds(result.after.p99)} ms",
    ]  # fmt: skip
    parts += [f"counted: {most(result.refusals)}"] if result.refusals else []
    for what, failures in (
        ("failed", result.failures), ("kept out", result.kept_out), ("health checks", result.operations_kept_out),
        (f"sign-ins of {result.sign_ins}", result.sign_ins_refused),
    ):  # fmt: skip
        parts += [f"{what}: {most(failures)}"] if failures else []
    for what, each in result.asked.items():
        failed = f", failed: {most(each.failures)}" if each.failures else ""
        parts.append(f"{what} {milliseconds(each.calm.p99)} → {milliseconds(each.during.p99)} ms{failed}")
    if result.pauses:
        parts.append(f"{result.not_measured} messages during {result.pauses} pauses of {result.paused_seconds:.2f} s")
    return "    " + "; ".join(parts + result.notes)


def markdown(results: list[Result], before: dict[tuple[str, int], Result]) -> str:
    """A row for each attack; with an earlier build's figures, each cell is `before → after`."""

    def both(new: Result, shown) -> str:
        old = before.get(new.row)
        return f"{shown(old)} → {shown(new)}" if old else shown(new)

    rows = [
        "| attack | loops | others' p99, calm, ms | attacked, ms | worst, ms | messages failed | newcomers kept out | memory, MB | kernel, MB "
        "| attacker refused after | holds | |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for result in results:
        shown = [
            both(result, value)
            for value in (
                lambda one: milliseconds(one.calm.p99), lambda one: milliseconds(one.during.p99),
                lambda one: milliseconds(one.during.worst), lambda one: str(sum(one.failures.values())), newcomers,
                lambda one: f"{one.memory_peak:.0f}", lambda one: f"{one.kernel_peak:.0f}", lambda one: after(one.first_refusal), lambda one: str(one.held),
            )
        ]  # fmt: skip
        rows.append(f"| {result.attack} | {result.loops} | " + " | ".join(shown) + f" | {', '.join(result.broken) or 'held'} |")
    return "\n".join(rows) + "\n"
