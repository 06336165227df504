#!/bin/sh
# Starts a player for the Tablut competition. Usage: runmyplayer.sh WHITE|BLACK TIMEOUT_SECONDS SERVER_IP
# Written by `tablut play --write-script DIR`. It uses the Python interpreter, the folder and the search paths of that
# command, wherever it is started. Any further arguments are options of `tablut play`.
if [ "$#" -lt 3 ]; then
    echo "usage: $0 WHITE|BLACK TIMEOUT_SECONDS SERVER_IP" >&2
    exit 2
fi
role=$1 timeout=$2 server=$3
shift 3
cd @FOLDER@
export PATH=@PATH@ PYTHONPATH=@PYTHONPATH@
exec @PYTHON@ -P -m tablut play --role "$role" --server "$server" --timeout "$timeout" --wait 60 @MORE@ "$@"
