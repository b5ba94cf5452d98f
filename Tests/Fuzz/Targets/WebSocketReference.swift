import ParlorWebSocket

/// A second, plain implementation of RFC 6455 over all bytes at once, with which the parser has to
/// agree.
struct WebSocketReference {
    struct Outcome: CustomStringConvertible {
        var events: [WebSocketEvent] = []
        /// The close code; nil if the bytes so far are valid.
        var closeCode: UInt16?

        var description: String { "\(events), \(closeCode.map(String.init) ?? "no error")" }
    }

    private struct Failure: Error {
        let code: UInt16
    }

    private let role: WebSocketParser.Role
    private let limits: (messageBytes: Int, smallFragments: Int)
    private var rest: ArraySlice<UInt8> = []
    private var outcome = Outcome()
    private var kind: UInt8?
    private var message: [UInt8] = []
    private var smallFragments = 0

    init(_ role: WebSocketParser.Role, _ limits: (messageBytes: Int, smallFragments: Int)) {
        self.role = role
        self.limits = limits
    }

    func read(_ bytes: [UInt8]) -> Outcome {
        var reader = self
        reader.rest = bytes[...]
        do throws(Failure) {
            while try reader.frame() {}
        } catch {
            reader.outcome.closeCode = error.code
        }
        return reader.outcome
    }

    /// Reads one frame. Returns whether another may follow.
    private mutating func frame() throws(Failure) -> Bool {
        let start = rest.startIndex
        guard rest.count >= 2 else { return false }
        let (first, second) = (rest[start], rest[start + 1])
        let (isFinal, opcode, short) = (first & 0x80 != 0, first & 15, Int(second & 0x7F))
        let isControl = opcode >= 8
        guard first & 0x70 == 0, [0, 1, 2, 8, 9, 10].contains(opcode), (second & 0x80 != 0) == (role == .server),
            !isControl || (isFinal && short <= 125)
        else { throw Failure(code: 1002) }
        let lengthBytes = short == 127 ? 8 : short == 126 ? 2 : 0
        let headerBytes = 2 + lengthBytes + (role == .server ? 4 : 0)
        guard rest.count >= headerBytes else { return false }
        let written = rest[start + 2..<start + 2 + lengthBytes].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let length = lengthBytes == 0 ? UInt64(short) : written
        guard length < 1 << 63, lengthBytes == 0 || length > (lengthBytes == 2 ? 125 : 0xFFFF) else {
            throw Failure(code: 1002)
        }
        let mask = role == .server ? Array(rest[start + headerBytes - 4..<start + headerBytes]) : [0]
        rest = rest.dropFirst(headerBytes)
        if !isControl { try begin(opcode, length) }

        let payload = rest.prefix(Int(clamping: length)).enumerated().map { $0.element ^ mask[$0.offset % mask.count] }
        rest = rest.dropFirst(payload.count)
        if !isControl {
            message += payload
            // Invalid text is refused before its frame ends.
            if kind == 1, !isPrefixOfUTF8(message) { throw Failure(code: 1007) }
        }
        guard payload.count == Int(clamping: length) else { return false }
        if isControl { return try control(opcode, payload) }
        if isFinal { try end() }
        return true
    }

    private mutating func begin(_ opcode: UInt8, _ length: UInt64) throws(Failure) {
        guard (opcode == 0) == (kind != nil) else { throw Failure(code: 1002) }
        if opcode != 0 { kind = opcode }
        if length < 16 { smallFragments += 1 }
        guard length <= UInt64(limits.messageBytes - message.count), smallFragments <= limits.smallFragments else {
            throw Failure(code: 1009)
        }
    }

    private mutating func end() throws(Failure) {
        if kind == 1, String(validating: message, as: UTF8.self) == nil { throw Failure(code: 1007) }
        outcome.events.append(kind == 1 ? .text(message) : .binary(message))
        (kind, message, smallFragments) = (nil, [], 0)
    }

    private mutating func control(_ opcode: UInt8, _ payload: [UInt8]) throws(Failure) -> Bool {
        switch opcode {
        case 9: outcome.events.append(.ping(payload))
        case 10: outcome.events.append(.pong(payload))
        default:
            if payload.isEmpty {
                outcome.events.append(.close(code: nil, reason: ""))
                return false
            }
            guard payload.count > 1 else { throw Failure(code: 1002) }
            let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
            let isSent = [1000, 1001, 1002, 1003].contains(code) || (1007...1014).contains(code)
            guard isSent || (3000...4999).contains(code) else { throw Failure(code: 1002) }
            guard let reason = String(validating: payload.dropFirst(2), as: UTF8.self) else {
                throw Failure(code: 1007)
            }
            outcome.events.append(.close(code: code, reason: reason))
            return false
        }
        return true
    }

    /// Returns whether the bytes begin a valid text: they are valid, or only the end of the last
    /// character is missing.
    private func isPrefixOfUTF8(_ bytes: [UInt8]) -> Bool {
        if String(validating: bytes, as: UTF8.self) != nil { return true }
        let endings: [[UInt8]] = [
            [0x80], [0xBF], [0x80, 0x80], [0xBF, 0xBF], [0x80, 0x80, 0x80], [0xBF, 0x80, 0x80], [0x90, 0x80],
            [0x90, 0x80, 0x80], [0xA0, 0x80],
        ]
        return endings.contains { String(validating: bytes + $0, as: UTF8.self) != nil }
    }
}
