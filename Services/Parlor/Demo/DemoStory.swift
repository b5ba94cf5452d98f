import ParlorJSON

/// The actions of Ada, Ben, Cleo and Dan in the last days, before someone looks at the rooms of Ada and Ben.
enum DemoStory {
    static let guest = "cleo"

    struct Step {
        let minutesAgo: Int
        let action: Action
    }

    enum Action {
        case register(String, firstName: String)
        /// A direct room with one other person, a group with several.
        case open(String, by: String, with: [String], name: String?)
        case say(String, String, String)
        case read(String, String)
        case put(String, String, DemoElement)
    }

    static let answers = [
        "Hello! I belong to the demo, and I answer whatever you write.",
        "Did you see me type? Ada and Ben see each other like that, in two windows.",
        "Try the board: a note that you drag here moves in the other window while you drag it.",
        "Stop the server and write on. Your message waits here, and is sent exactly once, as soon as the server is up again.",
        "Arrow keys work everywhere: up in an empty field goes to your last message.",
        "The moon in the account menu turns the lights off.",
    ]

    private static let day = 24 * 60

    static let steps: [Step] =
        [("ada", "Ada"), ("ben", "Ben"), ("cleo", "Cleo"), ("dan", "Dan")].map {
            Step(minutesAgo: 9 * day, action: .register($0, firstName: $1))
        } + kitchen
        + room(
            "lisbon", "ada", "ben", "Lisbon in May", 5 * day,
            [
                "ada: Flights are cheapest on the 14th", "ben: Then the 14th it is. Window seat is mine",
                "ada: You always say that", "ben: https://www.visitlisboa.com has a map of the trams",
                "ada: Line 28, early in the morning, before everyone else",
            ], unreadBy: "ben",
            board: [
                .note("14 May, 07:35\nBack on the 21st", x: 40, y: 40, tint: 1),
                .link("https://www.visitlisboa.com", "Trams and ferries", x: 290, y: 60),
                .note("Pastéis de nata\nevery day", x: 60, y: 240, tint: 3),
            ])
        + room(
            "plain", "ben", "ada", nil, 3 * day + 200,
            [
                "ben: Quick question before I forget", "ben: Do you still have the ladder?",
                "ada: In the cellar, behind the bikes",
            ])
        + room(
            "film", "ben", "ada", "Film night", 2 * day + 90,
            [
                "ben: Saturday, my place. Your turn to choose", "ada: Playtime. And this time until the end",
                "ben: I was not asleep, I was listening", "ada: To your own snoring",
            ], board: [.note("Seen\n· Playtime\n· Stalker\n· Paterson", x: 40, y: 40, tint: 2)])
        + room(
            "band", "ada", "ben", "Band practice", 2 * day,
            [
                "ada: The drummer can only do Thursdays", "ben: Thursday works, after seven",
            ])
        + room(
            "garden", "ben", "ada", "Garden", day + 400,
            [
                "ben: The tomatoes have flowers!", "ada: All six of them?", "ben: Five. We do not talk about the sixth",
            ],
            board: [
                .note("Tomatoes\nbeans\nsunflowers", x: 40, y: 40, tint: 1),
                .note("Water on Tue and Fri", x: 280, y: 70, tint: 4),
            ])
        + room(
            "birthday", "ada", "ben", "Grandma's 80th", day + 60,
            [
                "ada: Forty people, one oven", "ben: I know a baker. Leave the cake to me", "ada: You are a hero",
            ])
        + room(
            "books", "ben", "ada", "Books", 20 * 60,
            [
                "ben: Finished it. That ending!", "ada: No word, I have sixty pages left",
            ])
        + room(
            "taxes", "ada", "ben", "Taxes", 11 * 60, ["ada: The receipts are in the blue folder", "ben: All of them?"])
        + room(
            "running", "ben", "ada", "Running", 8 * 60,
            [
                "ben: 7 km this morning, slow but dry", "ada: I slept for you, too", "ben: Tomorrow at six?",
                "ben: Say yes",
            ], unreadBy: "ada")
        + room(
            "bike", "ada", "ben", nil, 7 * 60,
            ["ada: May I borrow your bike pump?", "ben: It hangs in the hall, take it"])
        + room(
            "gifts", "ada", "cleo", "A surprise for Ben", 6 * 60,
            [
                "cleo: Does he suspect anything?", "ada: Nothing at all. Write to me here, never elsewhere",
            ])
        + room("chess", "ben", "cleo", "Chess by letter", 5 * 60, ["ben: e4", "cleo: c5. Your move"])
        + steps(
            "party", ["ben", "ada", "cleo", "dan"], "Summer party", 4 * 60,
            [
                "ben: All of you are in: the 12th, from five on", "dan: I bring the grill, and my brother",
                "cleo: Lemonade and music from me", "ada: Salads. And somebody who is not Dan watches the fire",
                "dan: That was one time",
            ],
            board: [
                .note("Grill: Dan\nsalads: Ada\nmusic: Cleo", x: 40, y: 40, tint: 2),
                .note("If it rains:\nour kitchen", x: 290, y: 60, tint: 4),
            ])
        + [
            // The newest messages, in the room that the links open.
            Step(minutesAgo: 6, action: .say("kitchen", "ben", "The carpenter just called: Monday at eight")),
            Step(minutesAgo: 5, action: .say("kitchen", "ben", "I said yes for both of us, hope that is fine")),
        ]

    private static func room(
        _ key: String, _ owner: String, _ other: String, _ name: String?, _ minutesAgo: Int, _ lines: [String],
        unreadBy slow: String? = nil, board: [DemoElement] = []
    ) -> [Step] {
        steps(key, [owner, other], name, minutesAgo, lines, unreadBy: slow, board: board)
    }

    /// Returns the steps of a room, whose first person makes it. Everyone has read all messages, except that `unreadBy` has
    /// not read the last two.
    private static func steps(
        _ key: String, _ people: [String], _ name: String?, _ minutesAgo: Int, _ lines: [String],
        unreadBy slow: String? = nil, board: [DemoElement] = []
    ) -> [Step] {
        let others = Array(people.dropFirst())
        var steps = [Step(minutesAgo: minutesAgo, action: .open(key, by: people[0], with: others, name: name))]
        for (index, element) in board.enumerated() {
            steps.append(Step(minutesAgo: minutesAgo - 1, action: .put(key, people[index % people.count], element)))
        }
        for (index, line) in lines.enumerated() {
            let parts = line.split(separator: ": ", maxSplits: 1)
            let time = minutesAgo - 2 - index * 3
            steps.append(Step(minutesAgo: time, action: .say(key, String(parts[0]), String(parts[1]))))
            for reader in people where !(reader == slow && index >= lines.count - 2) {
                steps.append(Step(minutesAgo: time, action: .read(key, reader)))
            }
        }
        return steps
    }

    private static let kitchen =
        room(
            "kitchen", "ada", "ben", "Kitchen plans", 6 * day,
            [
                "ada: I measured again: 3.20 m by 2.45 m", "ben: So the big table does fit!",
                "ada: If the fridge goes to the left. I drew it on the board",
                "ben: Love the window seat. Can we keep the old tiles?",
                "ada: The blue ones stay, the cracked ones go", "ben: Deal. I ask the carpenter for a date",
            ],
            board: [
                .sketch([(0, 0), (250, 0), (250, 180), (0, 180), (0, 0)], x: 40, y: 50, pen: 0),
                .sketch([(0, 0), (46, 0), (46, 46), (0, 46), (0, 0)], x: 50, y: 60, pen: 1),
                .sketch(
                    [
                        (0, 32), (9, 12), (32, 2), (60, 0), (92, 3), (112, 14), (120, 32), (110, 52), (88, 64),
                        (60, 66),
                        (30, 63), (8, 50), (0, 32),
                    ], x: 140, y: 130, pen: 2),
                .sketch([(0, 4), (110, 4)], x: 140, y: 46, pen: 3),
                .note("Fridge to the left,\nwindow seat stays", x: 324, y: 48, tint: 0, width: 190, height: 96),
                .note("Keep the blue tiles", x: 344, y: 168, tint: 1, width: 176, height: 76),
                .note("Ask the carpenter\n· oak or ash?\n· Monday?", x: 48, y: 262, tint: 2, width: 190, height: 116),
                .link("https://en.wikipedia.org/wiki/Frankfurt_kitchen", "The Frankfurt kitchen", x: 270, y: 284),
            ])
}

/// An element in the form of the web client (`Clients/Web/README.md`).
struct DemoElement {
    let type: String
    let x: Int
    let y: Int
    let content: JSONValue

    static func note(
        _ text: String, x: Int, y: Int, tint: Int, width: Int = 208, height: Int = 144
    ) -> DemoElement {
        DemoElement(
            type: "note", x: x, y: y,
            content: JSONWriter.object {
                $0.member("text", text)
                $0.member("tint", tint)
                $0.member("w", width)
                $0.member("h", height)
            })
    }

    static func link(_ address: String, _ title: String, x: Int, y: Int) -> DemoElement {
        DemoElement(
            type: "link", x: x, y: y,
            content: JSONWriter.object {
                $0.member("url", address)
                $0.member("title", title)
            })
    }

    /// Returns a line through corners, as if drawn by hand. It has points in between, because the page rounds the
    /// corners between distant points. It wobbles, because a hand-drawn line is never quite straight.
    static func sketch(_ corners: [(x: Int, y: Int)], x: Int, y: Int, pen: Int) -> DemoElement {
        var points: [Int] = []
        for (from, to) in zip(corners, corners.dropFirst()) {
            let steps = max(1, max(abs(to.x - from.x), abs(to.y - from.y)) / 24)
            for step in 0..<steps {
                let wobble = (points.count * 7) % 3
                points.append(max(0, from.x + (to.x - from.x) * step / steps + (step == 0 ? 0 : wobble - 1)))
                points.append(max(0, from.y + (to.y - from.y) * step / steps + (step == 0 ? 0 : 1 - wobble)))
            }
        }
        if let end = corners.last { points += [end.x, end.y] }
        let (width, height) = (corners.map(\.x).max() ?? 0, corners.map(\.y).max() ?? 0)
        return DemoElement(
            type: "stroke", x: x, y: y,
            content: JSONWriter.object {
                $0.member("points", array: { json in for point in points { json.number(point) } })
                $0.member("box", array: { json in for side in [width, max(height, 24)] { json.number(side) } })
                $0.member("pen", pen)
                $0.member("w", width)
                $0.member("h", max(height, 24))
            })
    }

    func write(to json: inout JSONWriter) {
        json.member("type", type)
        json.member("content", content)
        json.member(
            "position",
            object: {
                $0.member("x", x)
                $0.member("y", y)
            })
    }
}
