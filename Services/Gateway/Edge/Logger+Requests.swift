import ParlorContracts
import ParlorGatewayCatalog
import ParlorServiceKit

extension Logger {
    /// Logs the last line of a request: it was answered, after its event had been sent to this loop's
    /// sockets.
    func noteAnswer(_ position: EntryPosition?, _ subject: String, _ origin: RequestOrigin) {
        debug(
            "answered a client",
            [
                "request": origin.id, "trace": origin.trace?.traceID ?? "", "subject": subject,
                "log": position?.log.name ?? "", "seq": position?.seq ?? 0,
            ])
    }

    /// Logs why a request was refused, as the client reads it.
    ///
    /// - Parameter target: the event's name, or the method and the path, without the query: a query can have
    ///   what people searched for.
    func noteRefusal(_ error: ServiceError, _ requestID: String, of target: @autoclosure () -> String) {
        debug(
            "refused a client",
            ["request": requestID, "target": target(), "code": error.code.rawValue, "reason": error.message])
    }
}
