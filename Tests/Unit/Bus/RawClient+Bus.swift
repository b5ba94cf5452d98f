import TestSupport

/// What nc is to a person.
extension RawClient {
    func send(line: String) throws { try send("\(line)\n") }

    /// Every byte in a packet of its own, as far as the kernel plays along.
    func send(lineByByte line: String) throws {
        for byte in Array("\(line)\n".utf8) { try send([byte]) }
    }

    /// Says hello and takes the welcome.
    func sendHello() throws {
        try send(line: #"{"op":"hello","version":1,"name":"raw"}"#)
        guard try receiveLine()?.hasPrefix(#"{"op":"welcome""#) == true else {
            throw WireError.unexpected("no welcome")
        }
    }

    /// Returns when all that was sent before has been done by the broker.
    func settle() throws {
        try send(line: #"{"op":"ping"}"#)
        guard try receiveLine() == #"{"op":"pong"}"# else { throw WireError.unexpected("no pong") }
    }
}
