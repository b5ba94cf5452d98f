import ParlorElements
import ParlorOperations
import ParlorServiceKit

await Program("parlor-elements", "The elements on a room's board.", [.service(ElementsService.self), .operations]).run()
