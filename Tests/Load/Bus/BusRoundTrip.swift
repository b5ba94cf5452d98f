import Reactor
import TestClients

/// Requests through a broker, one at a time, each answered at once with as many bytes.
struct BusRoundTrip {
    let broker: ServerAddress
    let speech: BusSpeech

    func run(for duration: Duration) throws -> (latencies: Latencies, faults: [String]) {
        let responder = try BusLink(to: broker, speech, saying: speech.offer)
        let requester = try BusLink(to: broker, speech, saying: speech.inboxSubscription)
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
            let payload = BusHearing.payload(number)
            let start = LoopInstant.now()
            try requester.send(speech.request(number, payload))
            let question = try responder.next(.delivery)
            guard let reply = speech.reply(to: question, payload) else {
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
