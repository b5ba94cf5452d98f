import Foundation
import ParlorJSON

@testable import ParlorSocketIO

extension FuzzTarget {
    /// Bodies of POSTs: a parsed one can be written, and is then the same.
    static let polling = FuzzTarget(name: "polling", maxLength: 4096) { input throws(FuzzFinding) in
        let parts = input.split(separator: 0x1E, omittingEmptySubsequences: false)
        let packets: [EnginePacket]
        do throws(ProtocolViolation) {
            packets = try PollingPayload.parse(input[...])
        } catch {
            let isGood = String(validating: input, as: UTF8.self) != nil && parts.allSatisfy(isPacket)
            try require(!isGood, "refused, though every packet is good: \(error)")
            return
        }
        try require(packets.count == parts.count, "\(packets.count) packets in \(parts.count) parts")
        for (packet, part) in zip(packets, parts) {
            let written =
                packet.isBinary
                ? OutgoingPacket(binary: Array(packet.payload)) : OutgoingPacket(packet.kind, packet.payload)
            try require(PollingPayload.encode([written]) == Array(part), "\(Array(part)) is written as \(written)")
        }
        for start in stride(from: 0, to: packets.count, by: PollingPayload.maxPackets) {
            let few = packets[start..<min(start + PollingPayload.maxPackets, packets.count)]
            let body = PollingPayload.encode(
                few.map {
                    $0.isBinary ? OutgoingPacket(binary: Array($0.payload)) : OutgoingPacket($0.kind, $0.payload)
                })
            let again = try? PollingPayload.parse(body[...])  // nil differs from what was written
            try require(again == Array(few), "what was written is read as \(again ?? [])")
        }
    }

    private static func isPacket(_ part: ArraySlice<UInt8>) -> Bool {
        guard part.first == UInt8(ascii: "b") else { return part.first.map { (0x30...0x36).contains($0) } ?? false }
        // Foundation accepts leftover bits at the end, which nobody writes, so the decoded bytes
        // are encoded again.
        let text = Data(part.dropFirst())
        return Data(base64Encoded: text)?.base64EncodedData() == text
    }

    /// Messages, text and binary, to the decoder of one connection.
    static let socketIO = FuzzTarget(name: "socketio", maxLength: 2048) { input throws(FuzzFinding) in
        var input = FuzzInput(input)
        let options = input.byte()
        var decoder = SocketIODecoder(maxAttachments: 4, maxBytes: 64, keepsAttachments: options & 1 == 0)
        while !input.isEmpty {
            let kind = input.byte()
            // One long message, or several short ones.
            let bytes = kind & 2 == 0 ? input.all() : input.chunk()
            let packet = kind & 1 == 0 ? EnginePacket(.message, payload: bytes[...]) : EnginePacket(binary: bytes[...])
            if !packet.isBinary, String(validating: bytes, as: UTF8.self) == nil { continue }
            switch Result(catching: { () throws(ProtocolViolation) in try decoder.decode(packet) }) {
            case .success(let packet?): try check(packet, keepsAttachments: options & 1 == 0)
            case .success(nil): break
            // The decoder cannot be used after that.
            case .failure: return
            }
        }
    }

    private static func check(_ packet: SocketIOPacket, keepsAttachments: Bool) throws(FuzzFinding) {
        try require(packet.attachmentCount <= 4, "too many attachments")
        try require(packet.attachments.reduce(0) { $0 + $1.count } <= 64, "attachments over their limit")
        try require(
            packet.attachments.count == (keepsAttachments ? packet.attachmentCount : 0), "attachments are missing")
        try require(packet.namespace.utf8.first == UInt8(ascii: "/"), "a namespace without its slash")
        try require(packet.id.map { $0 >= 0 } ?? true, "an id below zero")
        for argument in packet.arguments {
            try require((try? JSONValue(parsing: argument.bytes)) != nil, "an argument that is no JSON: \(argument)")
        }
        guard packet.attachmentCount == 0, packet.refusal == nil, let name = packet.eventName, packet.kind == .event,
            !packet.namespace.contains(",")
        else { return }
        let written = OutgoingPacket.event(name, packet.arguments, namespace: packet.namespace, id: packet.id)
        let again = try? SocketIOPacket(parsing: written.payload.dropFirst())  // nil differs from what was written
        try require(
            again?.eventName == name && again?.arguments == packet.arguments && again?.id == packet.id
                && again?.namespace == packet.namespace, "\(packet) is written as \(again.debugDescription)")
    }
}
