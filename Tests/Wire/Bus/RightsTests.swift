import ParlorAccounts
import ParlorContracts
import ParlorElements
import ParlorGateway
import ParlorMessageBus
import ParlorMessaging
import ParlorPush
import ParlorRooms
import ParlorServiceKit
import ParlorServices
import Testing

@testable import ParlorBus

/// The rights of each of Parlor's own peers, and their limits.
@Suite("rights on the bus", .timeLimit(.minutes(1)))
struct RightsTests {
    typealias Case = (peer: BusPeer, operation: BusRights.Operation, subjects: [String])

    static let peers = ParlorServices.all.map { $0.peer } + [Gateway.peer, BusPeer.operator]

    /// A service of another package.
    private static let follower = BusPeer.service("index", follows: ["messaging"])

    static let allowed: [Case] = [
        (follower, .request, ["messaging.events"]),
        (follower, .subscribe, ["messaging.log", "services.announce.messaging"]),
        (AccountsService.peer, .serve, ["accounts.login", "accounts.health"]),
        (AccountsService.peer, .request, ["rooms.roommates", "accounts.health"]),
        (AccountsService.peer, .publish, ["accounts.log", "services.announce.accounts", "status.told"]),
        (AccountsService.peer, .subscribe, ["services.discover", "status.wanted"]),
        (RoomsService.peer, .serve, ["rooms.membership"]),
        (RoomsService.peer, .request, ["accounts.people", "messaging.answered", "rooms.membership"]),
        (RoomsService.peer, .publish, ["rooms.log", "services.announce.rooms"]),
        (MessagingService.peer, .request, ["rooms.membership", "rooms.shared"]),
        (MessagingService.peer, .publish, ["messaging.log", "services.announce.messaging"]),
        (ElementsService.peer, .serve, ["elements.presence", "elements.create"]),
        (ElementsService.peer, .request, ["rooms.membership"]),
        (ElementsService.peer, .publish, ["elements.log", "services.discover"]),
        (ElementsService.peer, .subscribe, ["gateways.alive"]),
        (PushService.peer, .request, ["messaging.events", "messaging.unread", "rooms.names", "gateways.0192-ab.open"]),
        (
            PushService.peer, .subscribe,
            ["messaging.log", "services.announce.messaging", "gateways.alive", "accounts.log"]
        ),
        (Gateway.peer, .serve, ["gateways.0192-ab.open"]),
        (Gateway.peer, .request, ["accounts.login", "messaging.list", "polls.vote"]),
        (Gateway.peer, .publish, ["gateways.alive", "services.discover", "status.told"]),
        (Gateway.peer, .subscribe, ["services.announce.*", "polls.log", "gateways.alive", "status.wanted"]),
        (Gateway.peer, .publish, ["gateways.services", "gateways.forgotten"]),
        (BusPeer.operator, .publish, ["status.wanted", "services.list", "services.forget"]),
        (BusPeer.operator, .subscribe, [">", "messaging.>", "status.told"]),
    ]

    static let forbidden: [Case] = [
        (follower, .request, ["messaging.snapshot", "messaging.send"]),
        (follower, .subscribe, ["rooms.log", "services.announce.*"]),
        (follower, .publish, ["messaging.log"]),
        (AccountsService.peer, .request, ["messaging.list", "rooms.list", "push.register"]),
        (RoomsService.peer, .request, ["accounts.login", "accounts.refresh", "messaging.list"]),
        (MessagingService.peer, .request, ["accounts.people", "rooms.rename", "rooms.list"]),
        (ElementsService.peer, .request, ["messaging.list", "rooms.shared"]),
        (PushService.peer, .request, ["messaging.list", "messaging.send", "accounts.people", "gateways.a.b.open"]),
        (PushService.peer, .subscribe, ["rooms.log", "elements.log", ">", "messaging.*", "gateways.>"]),
        (
            PushService.peer, .publish,
            ["messaging.log", "services.announce.messaging", "gateways.alive", "services.discover"]
        ),
        (Gateway.peer, .publish, ["messaging.log", "accounts.log", "services.announce.accounts", "status.wanted"]),
        (Gateway.peer, .serve, [">", "*.health"]),
        (BusPeer.operator, .request, ["accounts.people", "accounts.health"]),
        (BusPeer.operator, .publish, ["services.discover", "messaging.log"]),
    ]

    @Test("a peer may do what its service does", arguments: allowed)
    func allows(item: Case) throws {
        for subject in item.subjects {
            #expect(try refusal(of: item.peer, item.operation, subject) == nil, "\(subject)")
        }
    }

    @Test("a peer may do nothing else", arguments: forbidden)
    func forbids(item: Case) throws {
        for subject in item.subjects {
            let refusal = try refusal(of: item.peer, item.operation, subject)
            #expect(refusal?.contains(#""code":"forbidden""#) == true, "\(subject)")
        }
    }

    @Test("only a service itself serves its subjects, publishes its log and announces it", arguments: peers)
    func others(peer: BusPeer) throws {
        for name in ParlorServices.all.map({ $0.name }) + ["unknown"] where name != peer.name {
            #expect(try refusal(of: peer, .serve, "\(name).login") != nil)
            #expect(try refusal(of: peer, .serve, "\(name).>") != nil)
            #expect(try refusal(of: peer, .publish, "\(name).log") != nil)
            #expect(try refusal(of: peer, .publish, "services.announce.\(name)") != nil)
        }
        #expect(try refusal(of: peer, .serve, ">") != nil)
        #expect(try refusal(of: peer, .serve, "*.login") != nil)
        let (forgetting, answering) = (
            try refusal(of: peer, .publish, "services.forget"), try refusal(of: peer, .publish, "gateways.forgotten")
        )
        #expect((forgetting == nil) == (peer.name == "operator"))
        #expect((answering == nil) == (peer.name == "gateway"))
        guard peer.name != "gateway" else { return }
        #expect(try refusal(of: peer, .request, "accounts.login") != nil || peer.name == "accounts")
        #expect(try refusal(of: peer, .publish, "gateways.presence") != nil)
        #expect(try refusal(of: peer, .serve, "gateways.x.open") != nil)
    }

    @Test("a peer shares events only under its own name, so a reader takes no events from the service")
    func queues() throws {
        func answer(_ known: BusPeer, _ subject: String, queue: String) throws -> String {
            let (broker, peer) = try connectedPeer(as: known)
            send(broker, peer, #"{"op":"sub","id":1,"subject":"\#(subject)","queue":"\#(queue)"}"#)
            #expect(broker.counters.forbidden == (queue == known.name ? 0 : 1) && peer.phase == .open)
            #expect(peer.subscriptions.count == (queue == known.name ? 1 : 0))
            return String(decoding: peer.takeOutbox(), as: UTF8.self)
        }
        #expect(try answer(PushService.peer, "messaging.log", queue: "push").isEmpty)
        #expect(try answer(BusPeer.operator, "messaging.>", queue: "operator").isEmpty)
        let refusal =
            #"{"op":"err","sub":1,"code":"forbidden","message":"`operator` may not share `messaging.>` as `push`"}"#
        #expect(try answer(BusPeer.operator, "messaging.>", queue: "push").contains(refusal))
        #expect(try answer(PushService.peer, "messaging.log", queue: "pull").contains("forbidden"))
    }

    @Test(
        "a custom service's name cannot be one that has another meaning on the bus",
        arguments: ["services", "status", "gateways", "gateway", "operator"])
    func reservedNames(name: String) throws {
        func table(_ line: String) throws -> BusPeerTable {
            let digest = String(repeating: "0", count: 64)
            return try BusPeerTable(Array("\(line.dropLast()),\"token\":\"sha256:\(digest)\"}".utf8), from: "peers")
        }
        #expect(throws: (any Error).self) { try table(#"{"service":"\#(name)"}"#) }
        #expect(throws: Never.self) { try table(#"{"service":"\#(name)2"}"#) }
    }

    @Test("a refusal leaves the connection open, is counted each time, and is logged a few times a minute")
    func boundedLog() throws {
        var notices = 0
        let (broker, peer) = try connectedPeer(as: PushService.peer) { notice in
            if case .forbidden(peer: "push", .publish, subject: "messaging.log") = notice { notices += 1 }
        }
        for second in 0..<300 {
            send(broker, peer, #"{"op":"pub","subject":"messaging.log","data":1}"#, at: .milliseconds(second * 100))
        }
        #expect(broker.counters.forbidden == 300 && notices == 20)
        send(broker, peer, #"{"op":"pub","subject":"messaging.log","data":1}"#, at: .seconds(61))
        #expect(notices == 21)
        #expect(peer.phase == .open)
    }

    @Test("a cached route for one subject permits no other subject")
    func routesAreChecked() throws {
        let (broker, peer) = try connectedPeer(as: PushService.peer)
        for subject in ["push.log", "push.log", "messaging.log", "push.log", "messaging.log"] {
            send(broker, peer, #"{"op":"pub","subject":"\#(subject)","data":1}"#)
        }
        #expect(broker.counters.forbidden == 2)
    }

    // MARK: A broker without sockets

    private func send(_ broker: Broker, _ peer: BrokerPeer, _ line: String, at now: Duration = .zero) {
        Array(line.utf8).withUnsafeBytes { broker.receive($0, from: peer, at: now) }
    }

    private func connectedPeer(
        as known: BusPeer, notify: @escaping (BrokerNotice) -> Void = { _ in }
    ) throws -> (Broker, BrokerPeer) {
        var settings = BrokerSettings()
        settings.access = .peers(try BusPeerTable([(known, token: "a token of some length")]))
        let broker = Broker(settings: settings, notify: notify)
        let peer = broker.connect(at: .zero)
        send(broker, peer, #"{"op":"hello","version":1,"name":"gateway","token":"a token of some length"}"#)
        #expect(peer.phase == .open && peer.name == known.name)
        _ = peer.takeOutbox()
        return (broker, peer)
    }

    /// Returns the broker's answer, if it is a refusal.
    private func refusal(of known: BusPeer, _ operation: BusRights.Operation, _ subject: String) throws -> String? {
        let (broker, peer) = try connectedPeer(as: known)
        let line =
            switch operation {
            case .serve: #"{"op":"serve","id":1,"subject":"\#(subject)","queue":"q"}"#
            case .subscribe: #"{"op":"sub","id":1,"subject":"\#(subject)"}"#
            case .request: #"{"op":"req","id":1,"subject":"\#(subject)","data":1}"#
            case .publish: #"{"op":"pub","subject":"\#(subject)","data":1}"#
            }
        send(broker, peer, line)
        let answer = String(decoding: peer.takeOutbox(), as: UTF8.self)
        #expect(peer.phase == .open)
        #expect(answer.contains("forbidden") == (broker.counters.forbidden == 1))
        // A request that is allowed finds nobody here.
        return answer.contains("forbidden") ? answer : nil
    }
}
