import ParlorReactor
import ParlorWebSocket
import TestClients

/// Sockets that all receive the same messages, and their ledger: how many sockets have received each
/// message, and whether all received the same one.
final class FanOutAudience {
    /// Called for each delivery with the message's number: 0 for the first that anyone received.
    var onReceived: ((Int) -> Void)?
    /// Called when every socket has received a message.
    var onReceivedByAll: ((Int) -> Void)?
    private(set) var deliveries = 0
    /// Deliveries that differ from the message that others received at that number.
    private(set) var outOfOrder = 0
    /// The reason why the audience is incomplete.
    private(set) var failure: String?

    let size: Int
    private var listeners: [Listener] = []
    private var open = 0
    /// The number of open sockets to wait for.
    private var goal = 0
    private var isClosing = false
    private var waiting: ((Result<Void, ClientError>) -> Void)?

    private var receivedBy: [Int] = []
    /// The identification of each message: the last eight digits of its `messageId`.
    private var marks: [UInt64] = []
    /// A received packet and the offset of its mark; nil before the first.
    private var sample: (packet: [UInt8], mark: Int)?

    /// The descriptors of the process beside the sockets.
    private static let otherDescriptors = 256
    /// The number of sockets that connect at once.
    private static let atOnce = 128
    private static let maxWait: Duration = .seconds(60)
    /// The time after which a message counts as lost.
    private static let receiveTimeout: Duration = .seconds(20)

    init(size: Int) { self.size = size }

    // MARK: - Connecting

    /// Raises the limit of descriptors, so that so many sockets fit.
    static func reserveDescriptors(for size: Int) throws(ClientError) {
        guard DescriptorLimit.raise() >= size + otherDescriptors else {
            throw ClientError("\(size) sockets need as many descriptors: see `ulimit -Hn`")
        }
    }

    /// Connects the sockets, and returns when all of them listen.
    func enter(_ server: ServerAddress, _ protocolKind: Listener.ProtocolKind, on loop: EventLoop)
        async throws(ClientError)
    {
        try Self.reserveDescriptors(for: size)
        let timer = loop.schedule(after: Self.maxWait) { [self] in closed("sockets do not open") }
        defer { timer.cancel() }
        while listeners.count < size {
            goal = min(open + Self.atOnce, size)
            while listeners.count < goal {
                listeners.append(try await Listener.connect(to: server, protocolKind, in: self, on: loop))
            }
            let outcome: Result<Void, ClientError> = await withCheckedContinuation { continuation in
                if let failure { return continuation.resume(returning: .failure(ClientError(failure))) }
                if open >= goal { return continuation.resume(returning: .success(())) }
                waiting = { continuation.resume(returning: $0) }
            }
            try outcome.get()
        }
    }

    func opened() {
        open += 1
        if open == goal { finish(.success(())) }
    }

    func closed(_ reason: String) {
        guard !isClosing else { return }
        failure = failure ?? reason
        finish(.failure(ClientError(reason)))
    }

    private func finish(_ outcome: Result<Void, ClientError>) {
        let waiting = waiting
        self.waiting = nil
        waiting?(outcome)
    }

    func close() {
        isClosing = true
        for listener in listeners { listener.close() }
    }

    // MARK: - Receiving

    /// - Parameter number: the messages that this socket had received before.
    func received(_ packet: UnsafeRawBufferPointer, number: Int) {
        let offset = sample?.mark ?? takeSample(packet)
        // A packet that is too short for an id is not one of the messages. With the mark 0 it shows as out of order.
        let mark = offset + 8 <= packet.count ? packet.loadUnaligned(fromByteOffset: offset, as: UInt64.self) : 0
        if number == marks.count {
            marks.append(mark)
            receivedBy.append(0)
        }
        if marks[number] != mark { outOfOrder += 1 }
        deliveries += 1
        receivedBy[number] += 1
        onReceived?(number)
        if receivedBy[number] == size { onReceivedByAll?(number) }
    }

    /// Waits until every socket has received so many messages, but ends if a socket fails or
    /// `receiveTimeout` has passed.
    func receivedAll(_ messages: Int, on loop: EventLoop) async {
        let end = LoopInstant.now() + Self.receiveTimeout
        while deliveries < messages * size, failure == nil, LoopInstant.now() < end {
            await loop.pause(.milliseconds(10))
        }
    }

    /// Finds the id of the message: `messageId` of `message:new:global`, `id` of a Message.
    private func takeSample(_ packet: UnsafeRawBufferPointer) -> Int {
        let names = ["\"messageId\":\"", "\"id\":\""].map { Array($0.utf8) }
        let name = names.first { name in packet.indices.contains { packet[$0...].starts(with: name) } } ?? []
        let start = packet.indices.first { packet[$0...].starts(with: name) } ?? packet.count
        let offset = start + name.count + 36 - 8
        sample = (Array(packet), offset)
        return offset
    }

    /// Returns a frame like the received ones, of a message with this number.
    func frame(numbered number: Int) -> [UInt8]? {
        guard let sample else { return nil }
        var packet = sample.packet
        let digits = String(number)
        let mark = String(repeating: "0", count: max(8 - digits.count, 0)) + digits
        packet.replaceSubrange(sample.mark..<sample.mark + 8, with: mark.utf8.suffix(8))
        return WebSocketFrame.encode(.text, packet)
    }

    /// Measures the machine's limit: as many sockets of `bench-floor`, which get frames like the received ones.
    ///
    /// - Parameter measure: gets these sockets, and a function that sends them a frame with a number.
    func atFloor<Result>(
        _ floor: ServerAddress, on loop: EventLoop,
        _ measure: (FanOutAudience, _ send: @escaping (Int) -> Void) async throws -> Result
    ) async throws -> Result {
        let bound = FanOutAudience(size: size)
        try await bound.enter(floor, .nothing, on: loop)
        let source = try await FloorSource.connect(to: floor, on: loop)
        defer {
            source.close()
            bound.close()
        }
        return try await measure(bound) { [self] in source.send(frame(numbered: $0) ?? []) }
    }

    func faults(sent: Int) -> [String] {
        let lost = receivedBy.reduce(0) { $0 + size - $1 } + max(sent - receivedBy.count, 0) * size
        var found: [String] = []
        if let failure { found.append(failure) }
        if lost != 0 { found.append("\(lost) lost") }
        if outOfOrder > 0 { found.append("\(outOfOrder) out of order") }
        if receivedBy.count > sent { found.append("\(receivedBy.count - sent) that were never sent") }
        return found
    }
}
