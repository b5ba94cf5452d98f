import SocketIO

/// An event that asks for something, from when it came.
struct SocketRequest {
    let event: SocketIOEvent
    let origin: RequestOrigin
}

/// A socket's events in their order, up to a limit.
struct WaitingEvents {
    static let maxCount = 4096
    static let maxBytes = 4 << 20

    private var arrived: [SocketRequest] = []
    /// The earlier half, turned round: what is taken is let go of at once.
    private var leaving: [SocketRequest] = []
    /// The memory, about, of those that wait.
    private(set) var bytes = 0

    var isEmpty: Bool { arrived.isEmpty && leaving.isEmpty }

    /// - Returns: false if there is no room: the client sends without regard to answers.
    mutating func append(_ request: SocketRequest) -> Bool {
        bytes += request.event.size
        guard arrived.count + leaving.count < Self.maxCount, bytes <= Self.maxBytes else { return false }
        arrived.append(request)
        return true
    }

    var first: SocketRequest? { leaving.last ?? arrived.first }

    mutating func popFirst() -> SocketRequest? {
        if leaving.isEmpty {
            leaving = arrived.reversed()
            arrived = []
        }
        guard let request = leaving.popLast() else { return nil }
        bytes -= request.event.size
        return request
    }
}

extension SocketIOEvent {
    /// In bytes, roughly: with the objects that it is made of.
    var size: Int { arguments.reduce(256) { $0 + $1.bytes.count } }
}
