import Glibc

/// Splits deliveries, all of one length, and checks that each is the next one.
struct BusReceiver {
    /// The digits at the start of a payload.
    static let digits = 16

    private(set) var received = 0
    /// The number of deliveries that were not the next one.
    private(set) var outOfOrder = 0
    private(set) var failure: String?
    /// The number of pings that are not answered yet.
    var pings = 0

    private let encoder: BusEncoder
    private let head: [UInt8]
    private let length: Int
    private var next = 0

    init(_ encoder: BusEncoder) {
        self.encoder = encoder
        let frame = encoder.deliveryFrame
        head = Array(frame.head.utf8)
        length = head.count + BusEncoder.payloadLength + frame.tail.utf8.count
    }

    static func payload(_ number: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: digits - text.utf8.count) + text
            + String(repeating: "x", count: BusEncoder.payloadLength - digits)
    }

    /// - Returns: how many bytes were complete messages.
    mutating func take(_ bytes: UnsafeRawBufferPointer) -> Int {
        var at = 0
        while let start = bytes.baseAddress.map({ $0 + at }), failure == nil {
            if bytes.count - at >= length, memcmp(start, head, head.count) == 0 {
                receive(number(at: start + head.count))
                at += length
                continue
            }
            guard let (kind, length) = encoder.first(in: bytes[at...]) else { break }
            switch kind {
            case .ping: pings += 1
            case .pong, .greeting: break
            case .delivery, .failure: failure = String(decoding: bytes[at..<(at + length)], as: UTF8.self)
            }
            at += length
        }
        return at
    }

    private mutating func receive(_ number: Int) {
        if number != next { outOfOrder += 1 }
        next = number + 1
        received += 1
    }

    private func number(at digits: UnsafeRawPointer) -> Int {
        (0..<Self.digits).reduce(0) { number, offset in
            number &* 10 &+ Int(digits.load(fromByteOffset: offset, as: UInt8.self) & 15)
        }
    }

    var faults: [String] {
        var found: [String] = []
        if outOfOrder > 0 { found.append("\(outOfOrder) lost or out of order") }
        if let failure { found.append("it said \(failure)") }
        return found
    }
}
