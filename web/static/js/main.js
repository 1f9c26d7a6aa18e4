// The console begins here.
import { html, render } from './lib/html.js'
import { learnSession } from './lib/session.js'
import { followTheme } from './lib/store.js'
import { startRouter } from './lib/router.js'
import { Console } from './frame/console.js'

followTheme()
startRouter()
await learnSession()
render(html`<${Console} />`, /** @type {Element} */ (document.getElementById('console')))
