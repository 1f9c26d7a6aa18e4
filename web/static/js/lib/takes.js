// What the server takes of apps: on Kubernetes images and pod templates, elsewhere packages alone.
import { useResource } from './resource.js'

/** useTakesImages says whether apps may have images here; undefined until it is known. */
export function useTakesImages() {
  const schema = useResource('/api/schema/app')
  return schema.data && schema.data.properties?.image !== undefined
}
