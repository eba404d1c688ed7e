/** Unit tests of what needs no editor. */
import './commands.test';
import './manifest.test';
import './server.test';
import './text.test';
import './versions.test';
import './views.test';
