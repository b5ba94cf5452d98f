import Testing

@testable import parlor_bench

@Suite("What the benchmark hears from brokers")
struct BusHearingTests {
    private static let speeches: [BusSpeech] = [.parlor, .nats]

    private func delivery(_ number: Int, _ speech: BusSpeech) -> String {
        speech.deliveryFrame.head + BusHearing.payload(number) + speech.deliveryFrame.tail
    }

    /// - Parameter missing: how many bytes have not come yet.
    private func hearing(_ text: String, _ speech: BusSpeech, missing: Int = 0) -> (BusHearing, rest: Int) {
        var hearing = BusHearing(speech)
        let bytes = Array(text.utf8.dropLast(missing))
        let taken = bytes.withUnsafeBytes { hearing.take($0) }
        return (hearing, bytes.count - taken)
    }

    @Test("each in its place, and what is not whole is left for later", arguments: speeches)
    func whole(speech: BusSpeech) {
        let text = (0..<3).map { delivery($0, speech) }.joined()
        let (all, rest) = hearing(text, speech)
        #expect(all.heard == 3 && all.faults == [] && rest == 0)
        for missing in 1..<delivery(2, speech).utf8.count {
            let (two, rest) = hearing(text, speech, missing: missing)
            #expect(two.heard == 2 && two.faults == [] && rest == delivery(2, speech).utf8.count - missing)
        }
    }

    @Test("what is lost, doubled or late is told of", arguments: speeches, [[0, 2], [0, 0], [1, 0, 2]])
    func order(speech: BusSpeech, numbers: [Int]) {
        let (hearing, _) = hearing(numbers.map { delivery($0, speech) }.joined(), speech)
        #expect(hearing.heard == numbers.count && hearing.faults.count == 1)
    }

    @Test("a ping between deliveries is counted, and anything else ends it", arguments: speeches)
    func between(speech: BusSpeech) {
        let (pinged, _) = hearing(delivery(0, speech) + speech.ping + delivery(1, speech), speech)
        #expect(pinged.heard == 2 && pinged.pings == 1 && pinged.faults == [])
        let (failed, _) = hearing(delivery(0, speech) + "-ERR 'no'\r\n" + delivery(1, speech), speech)
        #expect(failed.heard == 1 && failed.faults == ["it said -ERR 'no'\r\n"])
    }

    @Test("a request is answered where its broker says")
    func replies() {
        let line = #"{"op":"msg","sub":1,"reply":17,"subject":"bench.asked","timeout":5000,"data":"x"}"# + "\n"
        #expect(BusSpeech.parlor.reply(to: line, "y") == #"{"op":"res","id":17,"data":"y"}"# + "\n")
        #expect(BusSpeech.nats.reply(to: "MSG bench.asked 1 in.5 200\r\nx\r\n", "y") == "PUB in.5 200\r\ny\r\n")
        #expect(BusSpeech.parlor.reply(to: "{\"op\":\"msg\",\"sub\":1}\n", "y") == nil)
        #expect(BusSpeech.nats.reply(to: "MSG bench.asked 1 200\r\nx\r\n", "y") == nil)
    }
}
