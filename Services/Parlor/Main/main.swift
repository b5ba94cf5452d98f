import Accounts
import Gateway
import Rooms
import ServiceKit

await Program(
    "parlor", "Parlor, all of it in one process.", bus: .inProcess,
    [.service(AccountsService.self), .service(RoomsService.self), Gateway.factory]
).run()
