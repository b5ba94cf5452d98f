import ParlorTestSupport

/// What nc is to a person.
extension RawClient {
    func send(line: String) throws { try send("\(line)\n") }

    /// Sends every byte in a packet of its own, if the kernel complies.
    func send(lineByByte line: String) throws {
        for byte in Array("\(line)\n".utf8) { try send([byte]) }
    }

    /// Sends hello and reads the welcome.
    func sendHello() throws {
        try send(line: #"{"op":"hello","version":1,"name":"raw"}"#)
        guard try receiveLine()?.hasPrefix(#"{"op":"welcome""#) == true else {
            throw WireError.unexpected("no welcome")
        }
    }

    /// Waits until the broker has processed everything sent before.
    func settle() throws {
        try send(line: #"{"op":"ping"}"#)
        guard try receiveLine() == #"{"op":"pong"}"# else { throw WireError.unexpected("no pong") }
    }
}
