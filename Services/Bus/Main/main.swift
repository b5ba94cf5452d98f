import ParlorBus
import ParlorOperations
import ParlorServiceKit

await Program("parlor-bus", "The bus: carries events and requests between services.", bus: .none, [.bus, .operations])
    .run()
