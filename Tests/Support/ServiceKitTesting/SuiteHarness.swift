import ParlorContracts
import ParlorEventLog
import ParlorJSON
import ParlorMessageBus
import ParlorServiceKit
import ParlorStorage
import ParlorTestSupport
import Testing

/// A suite's fixture: a service in its harness. Each suite adds helpers for its own domain.
public protocol SuiteHarness: Sendable {
    associatedtype Served: Service
    var serviceHarness: ServiceHarness<Served> { get }
}

extension SuiteHarness {
    public var bus: any MessageBus { serviceHarness.bus }
    public var clock: ManualClock { serviceHarness.clock }
    public var context: ServiceContext { serviceHarness.context }
    public var database: any Database { serviceHarness.context.database }
    public var log: CapturedLog { serviceHarness.log }
    public var metrics: Metrics { serviceHarness.context.metrics }
    public var service: Served { serviceHarness.service }

    // MARK: Requests

    /// - Throws: the `ServiceError` that the service answers with.
    public func ask(
        _ subject: String, by caller: Caller?, _ data: JSONValue, timeout: Duration = .seconds(300)
    ) async throws -> Reply {
        let context = BusContext(requestID: "request-1", caller: caller?.json, timeout: timeout)
        return try Reply(await bus.request(subject, data, context))
    }

    @discardableResult
    public func ask(
        _ subject: String, by caller: Caller? = nil, _ write: (inout JSONWriter) -> Void = { _ in }
    ) async throws -> Reply {
        try await ask(subject, by: caller, JSONWriter.object(write))
    }

    /// - Parameter person: an id, for a service that does not look at the caller's name.
    @discardableResult
    public func ask(
        _ subject: String, by person: String, _ write: (inout JSONWriter) -> Void = { _ in }
    ) async throws -> Reply {
        try await ask(subject, by: Caller(person), JSONWriter.object(write))
    }

    /// Returns the error that the service answers with; nil if the request succeeds.
    public func refusal(_ subject: String, by caller: Caller?, _ data: JSONValue) async -> ServiceError? {
        await failure { try await ask(subject, by: caller, data) }
    }

    /// Expects that a request is refused with this code; nil: that it succeeds.
    ///
    /// - Throws: any error that is not the contract's.
    public func expect(
        _ code: ErrorCode?, _ location: SourceLocation = #_sourceLocation, _ call: () async throws -> Reply
    ) async throws {
        var refused: ErrorCode?
        do {
            _ = try await call()
        } catch let error as ServiceError {
            refused = error.code
        }
        #expect(refused == code, sourceLocation: location)
    }

    // MARK: The event log

    /// Returns the entries that the service has published since the last call, in order.
    public func takeEntries() -> [LogEntry] { serviceHarness.takeEntries() }

    /// Waits until the service has published `count` entries since the last call that took some, and takes them: for
    /// entries that no request has caused, such as those of a follower.
    public func waitForEntries(_ count: Int) async -> [LogEntry] { await serviceHarness.waitForEntries(count) }

    /// Returns the whole event log, from the database.
    public func entries() async throws -> [LogEntry] { try await EventLog(database).entries(since: 0, limit: 1000) }
}

extension Caller {
    /// Creates a person whose name is the id.
    public init(_ id: String) { self.init(id: id, username: id, firstName: nil) }
}

/// Returns the contract's error that a call ends with; nil if it succeeds. Any other error fails
/// the test.
public func failure(_ call: () async throws -> some Any) async -> ServiceError? {
    do {
        _ = try await call()
        return nil
    } catch let error as ServiceError {
        return error
    } catch {
        Issue.record("\(error) is no error of the contract")
        return nil
    }
}
