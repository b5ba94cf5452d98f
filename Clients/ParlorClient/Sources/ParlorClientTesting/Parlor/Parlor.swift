import ParlorClient

/// A whole Parlor in memory, as the contract describes it: requests and packets in, answers and packets out.
///
/// It does no I/O and starts no tasks, and the time is passed in. So the same input gives the same output. Times are
/// in milliseconds.
struct Parlor: Sendable {
    struct Settings: Sendable {
        var tokenLifetime = 15 * 60 * 1000
        var broadcastsToEveryone = true
        var pingInterval = 24 * 60 * 60 * 1000
        var pingTimeout = 20_000
    }

    /// A packet for a socket.
    struct Delivery: Sendable {
        enum Kind: Sendable, Equatable {
            case control, ack
            case event(String)
        }

        var socketID: Int
        var kind: Kind
        var text: String
    }

    struct Account: Sendable {
        var person: Person
        var password: String
    }

    struct Token: Sendable {
        var userID: String
        var expiresAt: Int
        var family: Int
    }

    struct RefreshToken: Sendable {
        var userID: String
        var family: Int
        var isUsed = false
        /// The refresh that used the token, if it had an attempt id.
        var attempt: (id: String, answer: JSON)?
    }

    /// A device that gets notifications. It is removed with the session that registered it.
    struct Device: Sendable {
        var userID: String
        var family: Int
    }

    struct Refused: Error {
        var status: Int
        var code: String
        var message: String
        var isRetryable = false
        var retryAfter: Duration?
    }

    struct ScriptedRefusal: Sendable {
        var name: String
        var refused: Refused
    }

    let settings: Settings
    var accounts: [String: Account] = [:]
    var tokens: [String: Token] = [:]
    var refreshTokens: [String: RefreshToken] = [:]
    var devices: [String: Device] = [:]
    var rooms: [String: RoomState] = [:]
    /// The ids of rooms, by the `clientRequestId` that created them.
    var roomsByRequest: [RoomState.TempID: String] = [:]
    var sockets: [Int: Socket] = [:]
    var log: [LogEntry] = []
    /// The log's generation. Cursors of earlier generations are too old.
    var generation = 1
    var refusals: [ScriptedRefusal] = []
    var plugins = Plugins()
    var deliveries: [Delivery] = []
    /// The sockets that the server has closed.
    var closed: [Int] = []

    private(set) var now: Int
    private var lastStamp = 0
    private var lastNumber = 0

    init(settings: Settings, now: Int) {
        self.settings = settings
        self.now = now
    }

    mutating func advance(to milliseconds: Int) { now = max(now, milliseconds) }

    /// Returns the time for a change. It is later than that of each earlier change, even if the clock stands still.
    mutating func stamp() -> Int {
        lastStamp = max(now, lastStamp + 1)
        return lastStamp
    }

    mutating func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Returns an id like a UUIDv7: ids sort by creation.
    mutating func makeID(at milliseconds: Int) -> String {
        let time = Self.hex(milliseconds, 12)
        return "\(time.prefix(8))-\(time.suffix(4))-7000-8000-\(Self.hex(nextNumber(), 12))"
    }

    /// Throws the next refusal that the test has set for this request, if there is one.
    mutating func checkRefusals(for name: String) throws(Refused) {
        guard let index = refusals.firstIndex(where: { $0.name == name }) else { return }
        throw refusals.remove(at: index).refused
    }

    mutating func takeDeliveries() -> (deliveries: [Delivery], closed: [Int]) {
        defer { (deliveries, closed) = ([], []) }
        return (deliveries, closed)
    }

    private static func hex(_ value: Int, _ width: Int) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
}

extension Parlor.Refused {
    static func notFound(_ what: String) -> Self {
        .init(status: 404, code: "\(what)_not_found", message: "No such \(what).")
    }
    static func invalid(_ field: String, _ why: String) -> Self {
        .init(status: 422, code: "invalid_field", message: "\(field) \(why).")
    }
    static func malformed(_ why: String) -> Self { .init(status: 400, code: "malformed_request", message: why) }
    static let unauthenticated = Self(status: 401, code: "unauthenticated", message: "Sign in first.")
    static func forbidden(_ why: String) -> Self { .init(status: 403, code: "forbidden", message: why) }

    init(_ refusal: Refusal) {
        self.init(
            status: refusal.status ?? (refusal.isRetryable ? 503 : 422), code: refusal.code, message: refusal.message,
            isRetryable: refusal.isRetryable, retryAfter: refusal.retryAfter)
    }
}
