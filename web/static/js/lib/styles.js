// Stylesheets that were not answered.
import { delayOf } from './retry.js'

/**
 * mendStyles asks again for the page's stylesheets that failed. Scripts run when all of them are there or have failed.
 */
export function mendStyles() {
  for (const link of document.querySelectorAll('link[rel="stylesheet"]')) {
    if (link instanceof HTMLLinkElement && !isThere(link)) mend(link, 1)
  }
}

/**
 * isThere reports whether a stylesheet was answered. Chromium has a sheet in the place of one that was not, which may not
 * be read.
 * @param {HTMLLinkElement} link
 */
function isThere(link) {
  try {
    return Boolean(link.sheet?.cssRules)
  } catch {
    return false
  }
}

/**
 * @param {HTMLLinkElement} link
 * @param {number} tries
 */
function mend(link, tries) {
  setTimeout(() => {
    const next = /** @type {HTMLLinkElement} */ (link.cloneNode())
    next.addEventListener('error', () => mend(next, tries + 1))
    link.replaceWith(next)
  }, delayOf(tries))
}
