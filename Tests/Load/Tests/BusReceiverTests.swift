import Testing

@testable import parlor_bench

@Suite("What the benchmark receives from brokers")
struct BusHearingTests {
    private static let encoders: [BusEncoder] = [.parlor, .nats]

    private func delivery(_ number: Int, _ encoder: BusEncoder) -> String {
        encoder.deliveryFrame.head + BusReceiver.payload(number) + encoder.deliveryFrame.tail
    }

    /// - Parameter missing: the number of bytes that have not arrived yet.
    private func receiver(_ text: String, _ encoder: BusEncoder, missing: Int = 0) -> (BusReceiver, rest: Int) {
        var receiver = BusReceiver(encoder)
        let bytes = Array(text.utf8.dropLast(missing))
        let taken = bytes.withUnsafeBytes { receiver.take($0) }
        return (receiver, bytes.count - taken)
    }

    @Test("each message is counted in its place, and an incomplete one is kept for later", arguments: encoders)
    func whole(encoder: BusEncoder) {
        let text = (0..<3).map { delivery($0, encoder) }.joined()
        let (all, rest) = receiver(text, encoder)
        #expect(all.received == 3 && all.faults == [] && rest == 0)
        for missing in 1..<delivery(2, encoder).utf8.count {
            let (two, rest) = receiver(text, encoder, missing: missing)
            #expect(two.received == 2 && two.faults == [] && rest == delivery(2, encoder).utf8.count - missing)
        }
    }

    @Test("lost, doubled and late messages are reported", arguments: encoders, [[0, 2], [0, 0], [1, 0, 2]])
    func order(encoder: BusEncoder, numbers: [Int]) {
        let (receiver, _) = receiver(numbers.map { delivery($0, encoder) }.joined(), encoder)
        #expect(receiver.received == numbers.count && receiver.faults.count == 1)
    }

    @Test(
        "a ping between deliveries is counted, and anything else ends the receiving with a fault", arguments: encoders)
    func between(encoder: BusEncoder) {
        let (pinged, _) = receiver(delivery(0, encoder) + encoder.ping + delivery(1, encoder), encoder)
        #expect(pinged.received == 2 && pinged.pings == 1 && pinged.faults == [])
        let (failed, _) = receiver(delivery(0, encoder) + "-ERR 'no'\r\n" + delivery(1, encoder), encoder)
        #expect(failed.received == 1 && failed.faults == ["it said -ERR 'no'\r\n"])
    }

    @Test("a request is answered in its broker's form")
    func replies() {
        let line = #"{"op":"msg","sub":1,"reply":17,"subject":"bench.asked","timeout":5000,"data":"x"}"# + "\n"
        #expect(BusEncoder.parlor.reply(to: line, "y") == #"{"op":"res","id":17,"data":"y"}"# + "\n")
        #expect(BusEncoder.nats.reply(to: "MSG bench.asked 1 in.5 200\r\nx\r\n", "y") == "PUB in.5 200\r\ny\r\n")
        #expect(BusEncoder.parlor.reply(to: "{\"op\":\"msg\",\"sub\":1}\n", "y") == nil)
        #expect(BusEncoder.nats.reply(to: "MSG bench.asked 1 200\r\nx\r\n", "y") == nil)
    }
}
