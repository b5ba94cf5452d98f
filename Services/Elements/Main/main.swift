import Elements
import Operations
import ServiceKit

await Program("parlor-elements", "The elements on a room's board.", [.service(ElementsService.self), .operations]).run()
