/// Parses responses from the bytes of a connection: HTTP/1.1 as far as Parlor's server speaks it,
/// with a length or without a body.
///
/// It shares no code with the server's parser, so that each reveals errors of the other.
struct HTTPAnswerReader {
    private var bytes: [UInt8] = []
    private var head: (status: Int, fields: [(name: String, value: String)], bodyStart: Int, end: Int)?
    /// The offset at which the search for the head's end continues.
    private var searched = 0

    mutating func append(_ piece: UnsafeRawBufferPointer) { bytes.append(contentsOf: piece) }

    /// The bytes after the last response; after an upgrade they belong to another protocol.
    var rest: [UInt8] { bytes }

    /// Returns the next response; nil until it is complete.
    mutating func next() throws(ClientError) -> HTTPAnswer? {
        if head == nil { try readHead() }
        guard let head, bytes.count >= head.end else { return nil }
        let answer = HTTPAnswer(
            status: head.status, fields: head.fields, body: Array(bytes[head.bodyStart..<head.end]))
        bytes.removeFirst(head.end)
        self.head = nil
        searched = 0
        return answer
    }

    private mutating func readHead() throws(ClientError) {
        guard let end = headEnd() else { return }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
        guard let statusLine = lines.first, statusLine.hasPrefix("HTTP/1.1 "),
            let status = Int(statusLine.dropFirst(9).prefix(3))
        else { throw ClientError("the server does not answer in HTTP/1.1") }
        var fields: [(name: String, value: String)] = []
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2 else { throw ClientError("no field of a head: \(line)") }
            fields.append((parts[0].lowercased(), parts[1].drop { $0 == " " }.description))
        }
        guard !fields.contains(where: { $0.name == "transfer-encoding" }) else {
            throw ClientError("the server answers in chunks, which this client does not read")
        }
        let length = fields.first { $0.name == "content-length" }.flatMap { Int($0.value) } ?? 0
        head = (status, fields, end, end + length)
    }

    /// Returns the offset after the empty line.
    private mutating func headEnd() -> Int? {
        while searched + 4 <= bytes.count {
            if bytes[searched] == 13, bytes[searched + 1] == 10, bytes[searched + 2] == 13, bytes[searched + 3] == 10 {
                return searched + 4
            }
            searched += 1
        }
        return nil
    }
}
