@testable import ParlorSocketIO

extension Sequence<UInt8> {
    /// For what is expected to be text.
    var text: String { String(decoding: Array(self), as: UTF8.self) }
}

extension String {
    var bytes: ArraySlice<UInt8> { Array(utf8)[...] }
}

extension OutgoingPacket {
    init(_ text: String) { self.init(text: Array(text.utf8)) }
}

extension EnginePacket {
    /// A text message.
    init(_ text: String) { self.init(.message, payload: text.bytes) }
}
