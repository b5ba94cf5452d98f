import ParlorJSON

/// The state of one part of a running program: a service or a gateway.
public struct StatusReport: Sendable, Equatable {
    /// The part's name, such as `messaging` or `gateway`.
    public let part: String
    /// The id of the instance: the host's name and the process's id.
    public let instance: String
    public let uptime: Duration
    /// The counters, in the order of display.
    public var figures: [Figure]
    /// The part's position in each event log that it follows. The position in its own log is the newest entry
    /// that the part has published or announced.
    public var positions: [Figure]

    public struct Figure: Sendable, Equatable {
        public let name: String
        public let value: Int

        public init(_ name: String, _ value: Int) {
            self.name = name
            self.value = value
        }
    }

    public init(part: String, instance: String, uptime: Duration, figures: [Figure] = [], positions: [Figure] = []) {
        self.part = part
        self.instance = instance
        self.uptime = uptime
        self.figures = figures
        self.positions = positions
    }

    public var json: JSONValue {
        JSONWriter.object {
            $0.member("part", part)
            $0.member("instance", instance)
            $0.member("seconds", Int(uptime.components.seconds))
            $0.member("figures", object: { for figure in figures { $0.member(figure.name, figure.value) } })
            $0.member("places", object: { for position in positions { $0.member(position.name, position.value) } })
        }
    }

    /// Parses the result of `json`; nil for anything else.
    public init?(_ json: JSONValue) {
        guard let object = json.object, let part = object["part"]?.string, let instance = object["instance"]?.string,
            let seconds = object["seconds"]?.int, let figures = object["figures"]?.object,
            let positions = object["places"]?.object
        else { return nil }
        func read(_ members: JSONObject) -> [Figure] {
            members.all.compactMap { name, value in value.int.map { Figure(name, $0) } }
        }
        self.init(
            part: part, instance: instance, uptime: .seconds(seconds), figures: read(figures),
            positions: read(positions))
    }
}
