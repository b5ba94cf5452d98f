import Accounts
import Demo
import Elements
import Gateway
import Messaging
import Operations
import Push
import Rooms
import ServiceKit

let services: [any Service.Type] = [
    AccountsService.self, RoomsService.self, MessagingService.self, ElementsService.self, PushService.self,
]
let demo = Demo.prepareOrExit()
await Program(
    "parlor", "Parlor, all of it in one process.", bus: .inProcess,
    services.map { .service($0) } + [Gateway.factory, Demo.factory(demo), .operations],
    commands: [.verify(services), .backup(services), .status, .tail]
).run()
