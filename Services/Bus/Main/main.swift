import Bus
import Operations
import ServiceKit

await Program("parlor-bus", "The bus: carries events and requests between services.", bus: .none, [.bus, .operations])
    .run()
