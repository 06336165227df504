#!/bin/sh
# Starts a player of the Tablut competition: runmyplayer.sh WHITE|BLACK TIMEOUT_SECONDS SERVER_IP
# Written by `tablut play --write-script DIR`, which fills in the Python that has tablut installed.
if [ "$#" -ne 3 ]; then
    echo "usage: $0 WHITE|BLACK TIMEOUT_SECONDS SERVER_IP" >&2
    exit 2
fi
exec @PYTHON@ -P -m tablut play --role "$1" --server "$3" --timeout "$2" --wait 60 @MORE@
