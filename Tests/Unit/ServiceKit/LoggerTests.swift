import ParlorContracts
import ParlorJSON
import ParlorServiceKit
import ParlorTestSupport
import Testing

@Suite("logs")
struct LoggerTests {
    private let lines = Collector<String>()
    private let clock = ManualClock(Timestamp(milliseconds: 1_734_428_700_123))

    private func logger(_ format: Logger.Format, level: Logger.Level = .debug) -> Logger {
        Logger("rooms", level: level, format: format, clock: clock) { [lines] in
            lines.add(String(decoding: $0, as: UTF8.self))
        }
    }

    @Test("a JSON line has its time, level, service and message, then its fields; numbers are numbers")
    func json() {
        logger(.json).warning("slow", ["count": 3, "subject": "rooms.get", "odd": "a\"b\nc"])
        #expect(
            lines.items == [
                #"{"time":"2024-12-17T09:45:00.123Z","level":"warning","service":"rooms","message":"slow","count":3,"#
                    + #""subject":"rooms.get","odd":"a\"b\nc"}"# + "\n"
            ])
    }

    @Test("a field does not replace one of the members that each JSON line has")
    func ownMembers() {
        logger(.json).error("missing", ["service": "chat", "time": 5, "log": "chat"])
        #expect(
            lines.items == [
                #"{"time":"2024-12-17T09:45:00.123Z","level":"error","service":"rooms","message":"missing","#
                    + #""service_":"chat","time_":5,"log":"chat"}"# + "\n"
            ])
    }

    @Test("a text line is readable: time, level, service, message, fields")
    func text() {
        logger(.text).info("serving", ["database": "a.db", "count": 3])
        logger(.text).error("failed")
        #expect(
            lines.items == [
                "2024-12-17T09:45:00.123Z info    rooms: serving database=a.db count=3\n",
                "2024-12-17T09:45:00.123Z error   rooms: failed\n",
            ])
    }

    @Test("a value cannot start a new line or control the terminal", arguments: [Logger.Format.text, .json])
    func forged(format: Logger.Format) throws {
        logger(format).error("failed", ["error": "x\n2024-12-17T09:45:00.123Z info forged\r\u{1b}[2J\u{85}é"])
        let line = try #require(lines.items.first)
        let controls = line.unicodeScalars.dropLast().filter { $0.properties.generalCategory == .control }
        #expect(line.hasSuffix("\n"))
        #expect(controls.allSatisfy { $0 == "\u{85}" && format == .json }, "C1 characters are no lines' ends to JSON")
        #expect(line.contains("é"))
    }

    @Test("lines below the level are neither written nor composed")
    func levels() {
        let log = logger(.text, level: .warning)
        func made() -> String {
            Issue.record("a message was made that nobody reads")
            return ""
        }
        log.debug(made())
        log.info(made())
        log.warning("shown")
        log.error("shown")
        #expect(lines.items.count == 2)
    }

    @Test("a part of a program has a label of its own, and shares everything else")
    func labelled() {
        logger(.text, level: .info).labelled("push").info("here")
        logger(.text, level: .info).labelled("push").debug("not here")
        #expect(lines.items == ["2024-12-17T09:45:00.123Z info    push: here\n"])
    }
}
