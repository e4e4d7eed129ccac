// conf's only export is a default one; from a split bundle it is reached by name.
import Conf from 'conf'

export { Conf }
