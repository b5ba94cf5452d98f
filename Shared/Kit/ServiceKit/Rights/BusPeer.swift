import ParlorContracts
import ParlorJSON
import ParlorMessageBus

/// A peer on the bus, and its rights.
public struct BusPeer: Sendable, Equatable {
    /// The name, one token of a subject: a service's own name, `gateway`, `operator`.
    public let name: String
    public let rights: BusRights
    /// The number of `pub` and `req` lines that it may send in a second, over a longer time; nil for any number. Each begun
    /// KiB of a line counts as a line. A peer that sends more is read from later.
    public var rate: Int?

    public init(_ name: String, _ rights: BusRights) {
        self.name = name
        self.rights = rights
    }

    /// The rate of a service that is added to Parlor, unless its row has another one.
    static let addedRate = 1000

    /// Returns a service as a peer. It may serve, request and publish the subjects that begin with its name,
    /// announce itself, and answer status requests. The parameters add to these rights.
    ///
    /// - Parameters:
    ///   - requests: the subjects that it requests from other services.
    ///   - publishes: the other subjects that it publishes.
    ///   - subscribes: the other subjects that it subscribes to.
    ///   - logs: the logs that it follows with a `DurableFollower`. This does not include their snapshots:
    ///     list `Subject.snapshot` in `requests`.
    public static func service(
        _ name: String, requests: [String] = [], publishes: [String] = [], subscribes: [String] = [],
        follows logs: [LogID] = []
    ) -> BusPeer {
        BusPeer(
            name,
            BusRights(
                serve: ["\(name).>"], request: ["\(name).>"] + logs.map(Subject.logPage) + requests,
                publish: ["\(name).>", Subject.announce(of: name), Subject.status] + publishes,
                subscribe: [Subject.discover, Subject.statusRequest]
                    + logs.flatMap {
                        [Subject.log(of: $0), Subject.logs(of: $0.service), Subject.announce(of: $0.service)]
                    } + subscribes))
    }

    /// An operator, who may subscribe to everything. The only change that an operator can make is to have gateways
    /// forget a service.
    public static let `operator` = BusPeer(
        "operator",
        BusRights(
            publish: [Subject.statusRequest, Subject.listServices, Subject.forgetService], subscribe: [">"]))

    /// The names that no service may have. They are the first tokens of other subjects, or the names of other peers. A
    /// service with such a name could publish, serve or be requested in place of others.
    package static let reservedNames: Set<String> = ["services", "status", "gateways", "gateway", "operator"]

    /// Returns true for a name that a service may have: it is also the name of its database's file or schema.
    static func isServiceName(_ name: String) -> Bool {
        SubjectGrammar.isQueue(name) && !name.contains("-") && !reservedNames.contains(name)
    }

    /// Returns the peers in order, but only the first of each name.
    static func once(_ peers: [BusPeer]) -> [BusPeer] {
        var names: Set<String> = []
        return peers.filter { names.insert($0.name).inserted }
    }
}

// Lines of JSON, as `bus-peers` prints them and the bus reads them.
extension BusPeer {
    /// Writes `{"name":…,"serve":[…],"request":[…],"publish":[…],"subscribe":[…],"rate":…}`.
    func write(to json: inout JSONWriter) {
        json.member("name", name)
        for operation in BusRights.Operation.allCases {
            json.member(operation.rawValue, rights[operation])
        }
        if let rate { json.member("rate", rate) }
    }

    /// Parses a peer.
    ///
    /// - Parameter object: the object that `write(to:)` writes. With `service` instead of `name`, the peer has a
    ///   service's rights in addition to the listed ones.
    /// - Throws: an error in words that complete "line 7 …".
    init(_ object: JSONObject) throws(BusPeerError) {
        let service = object["service"]?.string
        guard let name = service ?? object["name"]?.string, SubjectGrammar.isQueue(name) else {
            throw BusPeerError("has neither a `name` nor a `service` of a-z, 0-9, _ and -")
        }
        // A right under a wrong name would be missing, and nobody would say why.
        let known = ["name", "service", "token", "rate"] + BusRights.Operation.allCases.map(\.rawValue)
        if let unknown = object.all.map({ $0.name }).first(where: { !known.contains($0) }) {
            throw BusPeerError("has `\(unknown)`, which is none of \(known.joined(separator: ", "))")
        }
        var listed = BusRights()
        listed.serve = try Self.patterns(.serve, in: object)
        listed.request = try Self.patterns(.request, in: object)
        listed.publish = try Self.patterns(.publish, in: object)
        listed.subscribe = try Self.patterns(.subscribe, in: object)
        let rate = object["rate"]?.int
        guard object["rate"] == nil || (1...1_000_000).contains(rate ?? 0) else {
            throw BusPeerError("has a `rate` that is no number of lines, 1 to 1000000")
        }
        guard service != nil else {
            self.init(name, listed)
            self.rate = rate
            return
        }
        guard !Self.reservedNames.contains(name) else {
            throw BusPeerError("names a service \"\(name)\", which stands for something else on the bus")
        }
        guard listed.serve.isEmpty else { throw BusPeerError("lists `serve`: a service serves its own subjects alone") }
        if let subject = listed.publish.first(where: { Self.isOthers($0, than: name) }) {
            throw BusPeerError(
                "lists `publish` of `\(subject)`, which only gateways, operators or another service may publish")
        }
        self = .service(
            name, requests: listed.request, publishes: listed.publish, subscribes: listed.subscribe)
        self.rate = rate ?? Self.addedRate
    }

    /// Returns true for a pattern with subjects that nobody else may publish: those of announcements, operators and
    /// gateways, and other services' logs.
    private static func isOthers(_ pattern: String, than name: String) -> Bool {
        // Anybody may ask services to announce themselves.
        if pattern == Subject.discover { return false }
        let tokens = pattern.split(separator: ".")
        if ["services", "gateways", "status", "*", ">"].contains(tokens[0]) { return true }
        return tokens.count > 1 && tokens[0] != name && ["log", "*", ">"].contains(tokens[1])
    }

    /// Calls the body with the object in each line, skipping empty lines and comments.
    ///
    /// - Throws: `ConfigurationError` that names the line, also if the body throws.
    static func readLines(
        of text: [UInt8], from path: String, _ body: (JSONObject) throws(BusPeerError) -> Void
    ) throws(ConfigurationError) {
        for (number, line) in text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).enumerated() {
            guard let first = line.first(where: { $0 > 0x20 }), first != UInt8(ascii: "#") else { continue }
            do throws(BusPeerError) {
                // The details of the syntax error would not help.
                guard let object = try? JSONValue(parsing: line).object else { throw BusPeerError("is no JSON object") }
                try body(object)
            } catch {
                throw .malformed("\(path): line \(number + 1) \(error.reason)")
            }
        }
    }

    private static func patterns(
        _ operation: BusRights.Operation, in object: JSONObject
    ) throws(BusPeerError) -> [String] {
        guard let value = object[operation.rawValue] else { return [] }
        guard let list = value.array?.map(\.string) else {
            throw BusPeerError("has no list in `\(operation.rawValue)`")
        }
        let patterns = list.compactMap { $0 }
        guard patterns.count == list.count, patterns.allSatisfy(SubjectGrammar.isPattern) else {
            throw BusPeerError("has something in `\(operation.rawValue)` that is not a pattern of subjects")
        }
        return patterns
    }
}

struct BusPeerError: Error, Equatable {
    let reason: String

    init(_ reason: String) { self.reason = reason }
}
