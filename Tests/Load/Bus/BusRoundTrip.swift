import ParlorReactor
import TestClients

/// Requests through a broker, one at a time, each answered at once with as many bytes.
struct BusRoundTrip {
    let broker: ServerAddress
    let encoder: BusEncoder

    func run(for duration: Duration) throws -> (latencies: Latencies, faults: [String]) {
        let responder = try BusLink(to: broker, encoder, sending: encoder.offer)
        let requester = try BusLink(to: broker, encoder, sending: encoder.inboxSubscription)
        defer {
            responder.close()
            requester.close()
        }
        var latencies = Latencies()
        var faults: [String] = []
        let begin = LoopInstant.now()
        var number = 0
        while LoopInstant.now() - begin < duration, faults.isEmpty {
            number += 1
            let payload = BusReceiver.payload(number)
            let start = LoopInstant.now()
            try requester.send(encoder.request(number, payload))
            let question = try responder.next(.delivery)
            guard let reply = encoder.reply(to: question, payload) else {
                return (latencies, ["no request: \(question)"])
            }
            try responder.send(reply)
            let answer = try requester.next(.delivery)
            latencies.record(since: start)
            if !question.contains(payload) || !answer.contains(payload) { faults.append("another answer: \(answer)") }
        }
        return (latencies, faults)
    }
}
