import ParlorJSON
import Testing

@testable import ParlorMessageBus

@Suite("lines")
struct BusLineTests {
    /// Returns a line's content as text.
    private func read(_ text: String) throws(BusLineError) -> [String: String] {
        let result: Result<[String: String], BusLineError> = Array(text.utf8).withUnsafeBytes { bytes in
            do throws(BusLineError) {
                let line = try BusLine(bytes)
                func raw(_ range: Range<Int>?) -> String? { range.map { String(decoding: bytes[$0], as: UTF8.self) } }
                let members: [(String, String?)] = [
                    ("op", line.operation.map { "\($0)" }), ("id", line.id.map(String.init)),
                    ("sub", line.sub.map(String.init)), ("reply", line.reply.map(String.init)),
                    ("timeout", line.timeout.map(String.init)), ("version", line.version.map(String.init)),
                    ("subject", raw(line.subject)), ("queue", raw(line.queue)), ("token", raw(line.token)),
                    ("name", raw(line.name)), ("request", raw(line.request)), ("key", raw(line.key)),
                    ("trace", raw(line.trace)), ("code", raw(line.code)), ("message", raw(line.message)),
                    ("error", raw(line.error)), ("caller", raw(line.caller)), ("data", raw(line.data)),
                ]
                return .success(members.reduce(into: [:]) { $0[$1.0] = $1.1 })
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    @Test("members are found in any order, with any white space, and unknown ones are skipped")
    func members() throws {
        #expect(
            try read(#"{"op":"pub","subject":"a.b","data":[1]}"#) == ["op": "pub", "subject": "a.b", "data": "[1]"])
        let spaced = "\t{ \"subject\" : \"a\" , \"more\" : { \"x\" : [ 1 , \"]}\" ] } , \"n\" : -1.5e3 , \"id\" : 12 ,"
        #expect(
            try read(spaced + #" "op" : "req" , "caller" : {"a":"}"} , "data" :  null } "# + "\r")
                == ["subject": "a", "id": "12", "op": "req", "caller": #"{"a":"}"}"#, "data": "null"])
        #expect(try read(#"{"op":"hello","version":1,"token":"a\"b"}"#)["token"] == #"a\"b"#)
        #expect(try read(#"{"op":"dance"}"#) == [:])
        #expect(try read("{}") == [:])
        #expect(try read(#"{"op":"ping","caller":5}"#)["caller"] == "5")
    }

    @Test("everything from data on is the payload, unparsed")
    func payload() throws {
        #expect(try read(#"{"op":"pub","data":{"op":"err"},"subject":"a"}"#)["data"] == #"{"op":"err"},"subject":"a""#)
        #expect(try read(#"{"data":nonsense}"#)["data"] == "nonsense")
    }

    @Test(
        "a line that is not an object of members is refused",
        arguments: [
            "", " ", "x", "[]", "{", "{}x", "{,}", #"{"op"}"#, #"{"op":}"#, #"{"op":"pub""#, #"{"op":"pub","#,
            #"{"op":"pub",}"#,
            #"{"op":"pub" "id":1}"#, #"{"op":1}"#, #"{"id":"1"}"#, #"{"id":-1}"#, #"{"id":1.5}"#, #"{"id":1e3}"#,
            #"{"id":1234567890123456789}"#, #"{"subject":null}"#, #"{"op":"a\"#, #"{"data":}"#, #"{"data":1"#,
            #"{"data":"#,
            "{\"op\":\"a\u{1}\"}", #"{"x":[1}"#, #"{"x":{"#, #"{"x":,"y":1}"#, "{\"x\":{\u{1}}}", "\u{0}",
        ])
    func malformed(text: String) {
        #expect(throws: BusLineError.self) { _ = try read(text) }
    }

    @Test("numbers and marks over the limits are read: they may have been stored before there were limits")
    func unbounded() throws {
        for json in ["[1e400]", String(repeating: "9", count: 100), "\"\(String(repeating: "\u{301}", count: 1000))\""]
        {
            let value = Array(json.utf8).withUnsafeBytes { $0.value(at: $0.indices) }
            #expect(value?.text == json)
        }
    }

    @Test("a written line reads back unchanged")
    func roundTrip() throws {
        var out: [UInt8] = []
        let context = BusContext(
            requestID: "r\n1", caller: JSONValue(5), timeout: .milliseconds(1500), key: #"k"\"#, trace: "t")
        LineWriter.request(7, "a.b", try JSONValue(parsing: "{\n\"x\" :\n1}"), context, to: &out)
        #expect(out.last == UInt8(ascii: "\n") && out.dropLast().allSatisfy { $0 != UInt8(ascii: "\n") })
        let line = try read(String(decoding: out.dropLast(), as: UTF8.self))
        #expect(
            line == [
                "op": "req", "id": "7", "subject": "a.b", "timeout": "1500", "request": #"r\n1"#, "caller": "5",
                "key": #"k\"\\"#, "trace": "t", "data": "{ \"x\" : 1}",
            ])
    }

    @Test("remaining time is never written as zero, nor past time as negative")
    func milliseconds() {
        #expect(Duration.nanoseconds(1).wholeMilliseconds == 1)
        #expect(Duration.milliseconds(20).wholeMilliseconds == 20)
        #expect(Duration.seconds(-3).wholeMilliseconds == 0)
        #expect(Duration.seconds(Int64.max).wholeMilliseconds > 0)
    }

    @Test("random bytes are refused or read, within bounds")
    func fuzz() {
        var random = SystemRandomNumberGenerator()
        let pieces = [
            #"{"#, #"}"#, #"""#, #":"#, #","#, "[", "]", "\\", " ", "1", "null", #""op":"pub""#, #""data":"#,
            #""subject":"a""#,
            #""id":"#, "\u{1}", "é", "\r",
        ].map { Array($0.utf8) }
        for _ in 0..<50_000 {
            let bytes = (0..<Int.random(in: 0..<10, using: &random)).flatMap { _ in
                pieces.randomElement(using: &random) ?? []
            }
            bytes.withUnsafeBytes { buffer in
                guard let line = try? BusLine(buffer) else { return }  // refusing is as good as reading
                let ranges = [line.subject, line.queue, line.key, line.caller, line.data].compactMap { $0 }
                #expect(ranges.allSatisfy { $0.lowerBound >= 0 && $0.upperBound <= buffer.count })
                _ = (buffer.string(at: line.subject), buffer.value(at: line.data))
            }
        }
    }
}

@Suite("splitting into lines")
struct LineSplitterTests {
    private func split(_ chunks: [[UInt8]], maxLine: Int) throws(LineSplitter.LineTooLong) -> [String] {
        var splitter = LineSplitter(maxLine: maxLine)
        var lines: [String] = []
        for chunk in chunks {
            let result: Result<Void, LineSplitter.LineTooLong> = chunk.withUnsafeBytes { bytes in
                do throws(LineSplitter.LineTooLong) {
                    return .success(try splitter.split(bytes) { lines.append(String(decoding: $0, as: UTF8.self)) })
                } catch {
                    return .failure(error)
                }
            }
            try result.get()
        }
        return lines
    }

    @Test("the lines are the same however the bytes are cut", arguments: 1...12)
    func cuts(size: Int) throws {
        let text = Array("one\n\ntwo three\n\nfour\nrest".utf8)
        let chunks = stride(from: 0, to: text.count, by: size).map { Array(text[$0..<min($0 + size, text.count)]) }
        #expect(try split(chunks, maxLine: 20) == ["one", "", "two three", "", "four"])
    }

    @Test("the limit includes the newline, whether it has arrived or not")
    func limit() throws {
        #expect(try split([Array("1234567\n".utf8)], maxLine: 8) == ["1234567"])
        #expect(try split([Array("1234567".utf8), Array("\n".utf8)], maxLine: 8) == ["1234567"])
        #expect(throws: LineSplitter.LineTooLong.self) { try split([Array("12345678\n".utf8)], maxLine: 8) }
        #expect(throws: LineSplitter.LineTooLong.self) { try split([Array("12345678".utf8)], maxLine: 8) }
        #expect(throws: LineSplitter.LineTooLong.self) {
            try split([Array("1234".utf8), Array("5678\n".utf8)], maxLine: 8)
        }
    }
}
