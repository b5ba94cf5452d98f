import Bookmarks
import ParlorOperations
import ParlorServiceKit

await Program("parlor-bookmarks", "Bookmarks on messages.", [.service(BookmarksService.self), .operations]).run()
