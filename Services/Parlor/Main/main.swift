import Accounts
import Gateway
import ServiceKit

await Program(
    "parlor", "Parlor, all of it in one process.", bus: .inProcess,
    [.service(AccountsService.self), Gateway.factory]
).run()
