import Demo
import Gateway
import Operations
import ParlorServices
import ServiceKit

let services = ParlorServices.all
let demo = Demo.prepareOrExit()
await Program(
    "parlor", "Parlor, all of it in one process.", bus: .inProcess,
    services.map { .service($0) } + [Gateway.factory, Demo.factory(demo), .operations],
    commands: [.verify(services), .backup(services), .status, .tail]
).run()
