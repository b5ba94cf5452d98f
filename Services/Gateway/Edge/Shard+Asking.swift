import Contracts
import JSON
import Reactor
import ServiceKit
import SocketIO

/// A socket's event that its service works on: one reference for each closure that it goes through.
private final class EventUnderWay {
    let request: SocketRequest
    let client: Client
    let began: LoopInstant
    let declared: SocketEvent
    let pass: LimitPass

    init(
        _ request: SocketRequest, of client: Client, since began: LoopInstant, _ declared: SocketEvent,
        _ pass: LimitPass
    ) {
        self.request = request
        self.client = client
        self.began = began
        self.declared = declared
        self.pass = pass
    }
}

// Events that services have declared. Each goes on in steps, from call to call, and not in a task: thousands are under way at
// once, and a task for each would be four kilobytes that every step finds cold.
extension Shard {
    /// Asks the service that declared the event; acks once its echo was written.
    func ask(_ request: SocketRequest, of client: Client) {
        let began = LoopInstant.now()
        client.underWay += 1
        beginWork()
        do throws(ServiceError) {
            let catalog = context.directory.catalog
            guard let declared = catalog.socketEvents[request.event.name] else {
                guard catalog.isWhole else { throw .unavailable("This part of the service") }
                _ = try passLimits(limit("unknown"), person: client.caller.id, address: client.address)
                throw ServiceError(.malformedRequest, "There is no event of this name.")
            }
            let pass = try passLimits(
                catalog.limits(of: declared), person: client.caller.id, address: client.address,
                writing: request.event.size)
            let data = try Self.payload(of: request.event)
            let event = LoopBound(EventUnderWay(request, of: client, since: began, declared, pass), to: loop)
            context.ask(
                declared.subject, data, as: client.caller, origin: request.origin, key: data["roomId"]?.string
            ) { [self] result in
                loop.execute { self.assumeIsolated { $0.receive(result, for: event.object) } }
            }
        } catch {
            // Not at once: the end of one event starts those that wait, and each of them may fail as well.
            loop.execute { [client = LoopBound(client, to: loop)] in
                self.assumeIsolated { $0.finish(request, of: client.object, since: began, .failure(error)) }
            }
        }
    }

    private func receive(_ result: Result<Reply, ServiceError>, for event: EventUnderWay) {
        switch result {
        case .failure(let error):
            settle(event.pass, error)
            finish(event.request, of: event.client, since: event.began, .failure(error))
        case .success(let reply):
            settle(event.pass, nil)
            if reply.isDuplicate { giveBackBytes(event.pass) }
            whenFannedOut(reply.position, by: event.request.origin.deadline) { [self] in
                note(reply.position, event.declared.subject, event.request.origin)
                finish(
                    event.request, of: event.client, since: event.began,
                    .success(Self.members(of: reply, event.declared)))
            }
        }
    }

    private func finish(
        _ request: SocketRequest, of client: Client, since began: LoopInstant,
        _ outcome: Result<JSONValue?, ServiceError>
    ) {
        answer(request.event, of: client, since: began, outcome)
        client.underWay -= 1
        resume(client)
        endWork()
    }

    /// Of the ack.
    private static func members(of reply: Reply, _ event: SocketEvent) -> JSONValue {
        JSONWriter.object(reservingCapacity: reply.data.bytes.count + 192) {
            let data = event.ackCopies.isEmpty ? nil : reply.data.object
            for copy in event.ackCopies { if let value = data?[copy.from] { $0.member(copy.name, value) } }
            if reply.isDuplicate { $0.member("duplicate", true) }
            if let name = event.ackName { $0.member(name, reply.data) } else { $0.members(of: reply.data) }
        }
    }
}
