"""Remember what a user said, and find it again. Needs a deployment: `memoray up --store ./memory`."""

import os

import memoray


def main() -> None:
    """Submit, wait, search, preload."""
    memory = memoray.connect(namespace=os.environ.get("MEMORAY_NAMESPACE", "memoray"))
    ana = memoray.UserKey("quickstart", "ana")
    receipt = memory.submit(
        ana,
        "session-1",
        [
            memoray.Message("user", "I prefer window seats, and I am allergic to peanuts."),
            memoray.Message("assistant", "Noted!"),
        ],
    )
    print(receipt.status, len(receipt.turn_ids), "turns")
    memory.wait(ana)
    for hit in memory.search(ana, "Where should I book her a seat?", limit=3).hits:
        print(f"{hit.type}: {hit.text}", *(f"<- {source.speaker}, {source.session_id}" for source in hit.sources))
    print(memory.preload(ana, "Book a flight to Lisbon").text)


if __name__ == "__main__":
    main()
