import Accounts
import Elements
import Gateway
import Messaging
import Rooms
import ServiceKit

await Program(
    "parlor", "Parlor, all of it in one process.", bus: .inProcess,
    [
        .service(AccountsService.self), .service(RoomsService.self), .service(MessagingService.self),
        .service(ElementsService.self), Gateway.factory,
    ]
).run()
