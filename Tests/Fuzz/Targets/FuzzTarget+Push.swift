import ParlorContracts
import ParlorWebClient

@testable import ParlorPush

extension FuzzTarget {
    /// An answer of Apple's service or a webhook: a status and a body.
    static let push = FuzzTarget(name: "push", maxLength: 1024) { input throws(FuzzFinding) in
        var input = FuzzInput(input)
        let status = Int(input.byte()) << 8 | Int(input.byte())
        let retryAfter: Duration? = input.bool() ? .seconds(Int64(input.byte())) : nil
        let response = WebResponse(
            status: status, body: input.all(), headers: [:], httpVersion: 2, retryAfter: retryAfter)
        let registered = Timestamp(milliseconds: 1)
        for outcome in [
            APNsResponse(response).outcome(for: registered), WebhookProvider.outcome(response, for: registered),
        ] {
            try require(reason(of: outcome).utf8.count <= 64, "the reason \(reason(of: outcome))")
        }
    }

    /// Returns the reason, which becomes a metric's label: one of a few words for any answer.
    private static func reason(of outcome: PushOutcome) -> String {
        switch outcome {
        case .gone(_, let reason), .badToken(let reason), .later(let reason, _, _), .misconfigured(let reason, _),
            .refused(let reason), .unanswered(let reason, _):
            reason
        case .delivered: ""
        }
    }
}
